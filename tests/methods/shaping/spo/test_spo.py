"""SPO: a remembered value of each problem, and prompts by what is not known of them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_draws import shown
from single_answers import answer
from tiny import END, POOL, episode, models_of, policy, recipe_of, register, require_resumable, run

from assay.curate import StatisticsOnly
from assay.engine.interface import Span
from assay.memory import Memory
from assay.methods.shaping.spo.probe import Probe
from assay.methods.shaping.spo.tracked import TrackedValue
from assay.methods.shaping.spo.uncertain import uncertain
from assay.methods.shaping.spo.values import PROBE, STORE, track_values, value
from assay.part import bind
from assay.types import Row


def problem(row: Row) -> str:
    return row.episode.request.problem.id


# The value


def test_the_first_value_is_that_of_the_probes_and_the_advantage_is_what_exceeds_it() -> None:
    """5 of 8 probes right: v = 5.5 / 9. Without probes 1/2. What is known goes first: 3 / (3 + 1)."""
    probes = [answer(i < 5, tag=PROBE) for i in range(8)]
    rows = [*probes, answer(True), answer(False), answer(True, prompt="b"), answer(False, prompt="c")]
    memory = Memory(0).keep(STORE, {problem(rows[-1]): [3.0, 1.0]})
    found = [row.advantage[0] for row in bind(TrackedValue())(rows, memory=memory)][8:]  # type: ignore[index]
    assert found == pytest.approx([1 - 5.5 / 9, -5.5 / 9, 0.5, -0.75])


def test_probes_are_seen_and_do_not_train() -> None:
    rows = bind(StatisticsOnly(tag=PROBE))([answer(True, tag=PROBE), answer(True)])
    assert [(r.in_loss, r.in_group, r.in_denominator) for r in rows] == [(False, True, False), (True, True, True)]


def test_probes_are_asked_once_for_each_new_problem() -> None:
    known, new, again = (
        answer(True, prompt=p, group=g).episode.request for p, g in [("a", "0"), ("b", "1"), ("b", "2")]
    )
    memory = Memory(0).keep(STORE, {known.problem.id: [1.0, 1.0]})
    asked = bind(Probe(num=3), group_size=1)([known, new, again], memory=memory)
    assert asked[:3] == [known, new, again]
    assert [(r.group, r.sample, r.tag) for r in asked[3:]] == [("1", i, PROBE) for i in (1, 2, 3)]
    assert len({r.id for r in asked}) == 6


# The tracker


def tracked(memory: Memory, rows: list[Row], engine: object) -> Memory:
    return track_values(memory, models=models_of(engine), rows=rows, half=0.06, least=0.875, most=0.96)


def test_the_first_estimate_counts_for_eight_answers_and_the_first_visit_sees_no_drift() -> None:
    """N0 = 8: alpha = 8 * 5.5 / 9, beta = 8 * 3.5 / 9; then rho = 0.96. Without probes alpha = beta = 1/2."""
    engine = policy("fp32")
    rows = [*(answer(i < 5, tag=PROBE) for i in range(8)), answer(True), answer(False, prompt="b")]
    store = tracked(Memory(0), rows, engine).store(STORE)
    assert store[problem(rows[8])] == pytest.approx([0.96 * 44 / 9 + 1, 0.96 * 28 / 9])
    assert store[problem(rows[9])] == pytest.approx([0.48, 1.48])


def test_what_was_known_is_forgotten_as_the_policy_drifts() -> None:
    """The last answer's log-probs then and now, by two policies."""
    before, after = policy("fp32", seed=0), policy("fp32", seed=1)
    row = answer(True, ids=(1, 2, END))
    memory = tracked(Memory(0), [row], before)
    (held,) = memory.kept[STORE]
    span = Span(row.episode.request.context, row.episode.stream("ids").astype(np.int32))
    then, now = before.score([span])[0].logp, after.score([span])[0].logp
    np.testing.assert_array_equal(held.stream("old"), then)
    alpha, beta = memory.store(STORE)[problem(row)]
    other = answer(False, ids=(2, END))
    found = tracked(memory, [other], after)
    drift = float(np.abs(now - then).mean())
    rho = min(0.96, max(0.875, 2 ** (-drift / 0.06)))
    assert found.store(STORE)[problem(row)] == pytest.approx([rho * alpha, rho * beta + 1])
    assert found.kept[STORE][0].stream("ids").tolist() == [2, END] and len(found.kept[STORE]) == 1
    still = tracked(memory, [other], before)  # nothing moved
    assert still.store(STORE)[problem(row)] == pytest.approx([0.96 * alpha, 0.96 * beta + 1])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_several_answers_of_a_step_count_one_after_another(rights: list[bool]) -> None:
    alpha, beta = 0.5, 0.5
    for right in rights:
        alpha, beta = 0.96 * alpha + right, 0.96 * beta + (not right)
    store = tracked(Memory(0), [answer(r) for r in rights], policy("fp32")).store(STORE)
    ((found),) = store.values()
    assert found == pytest.approx([alpha, beta])
    assert value(store, next(iter(store))) == pytest.approx(alpha / (alpha + beta))


def test_an_error_of_ours_is_no_answer() -> None:
    lost = Row(episode([1, END], reward=None), in_loss=False, in_group=False, in_denominator=False)
    assert tracked(Memory(0), [lost], policy("fp32")).store(STORE) == {}


# Prompts


@pytest.mark.slow
def test_uncertain_problems_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights 1/2 + 0.05 and sqrt(0.99 * 0.01) + 0.05: the first draw is the uncertain one with their shares."""
    register(monkeypatch)
    a, b = uncertain(Memory(0), 0, 2, pool=POOL, size=2, floor=0.05)
    store, firsts = {a.id: [5.0, 5.0], b.id: [99.0, 1.0]}, []
    for step in range(2000):
        memory = dataclasses.replace(Memory(0), step=step).keep(STORE, store)
        drawn = uncertain(memory, 0, 4, pool=POOL, size=2, floor=0.05)
        assert {p.id for p in drawn[:2]} == {p.id for p in drawn[2:]} == {a.id, b.id}
        assert uncertain(memory, 1, 2, pool=POOL, size=2, floor=0.05) == drawn[1:3]
        firsts.append(drawn[0].id == a.id)
    low = math.sqrt(0.99 * 0.01) + 0.05
    share = 0.55 / (0.55 + low)
    assert np.mean(firsts) == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 2000))


# In the loop


@pytest.mark.slow
@pytest.mark.learning
def test_streams_of_one_answer_learn_without_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("spo", max_new=4, num_prompts=32, group_size=1, num_steps=12, learning_rate=0.02)
    recipe = dataclasses.replace(recipe, scale=dataclasses.replace(recipe.scale, num_minibatches=1, warmup_steps=0))
    notes, memory = run(recipe, policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1))
    assert [len(step) for step in notes.episodes] == [40] + [32] * 11  # one problem, probed once
    shown("rise", notes.accuracy()[-3:].mean() - notes.accuracy()[:3].mean(), above=0.1)
    assert len(memory.store(STORE)) == 1 and 1 < sum(*memory.store(STORE).values()) < 25  # forgets to 1 / (1 - 0.96)


@pytest.mark.slow
def test_a_stopped_run_of_spo_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("spo", max_new=4, num_prompts=4, group_size=1, num_steps=6, learning_rate=0.02)
    require_resumable(recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=4)
