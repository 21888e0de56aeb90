"""Hints for what every answer fails: what is asked, the context of each probability, and one gamma a step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_draws import shown
from tiny import episode, loss_and_gradient, models_of, policy, recipe_of, require_resumable, run, segment
from typed import present
from worked import POOL, Signs, beginner, register, world

from assay.ask.hints import hint_of, hinted
from assay.collect.expand import refill
from assay.engine.interface import Span
from assay.memory import Memory
from assay.memory.leftovers import STORE, keep_leftovers, leftovers
from assay.methods.exploration.guide.gate import shaped_by
from assay.methods.exploration.guide.quantile import GAMMA
from assay.methods.exploration.guide.retry import retry_with_hint
from assay.methods.exploration.guide.surplus import take_turns
from assay.objective import Clip
from assay.prompt import Prompt
from assay.recipe import Recipe
from assay.rng import Key
from assay.tasks import TASKS, task
from assay.tasks.task import steps_of
from assay.types import Episode, Request, Row


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    given = {"num_prompts": 4, "group_size": 4, "num_minibatches": 1, "warmup_steps": 0, **scale}
    return recipe_of("guide", max_new=6, **given)


# Hints


@given(name=st.sampled_from(sorted(TASKS)), seed=st.integers(0, 99), wording=st.sampled_from(["compact", "natural"]))
@settings(max_examples=60, deadline=None)
def test_steps_are_the_solution_and_a_hint_is_a_beginning_without_the_last(name: str, seed: int, wording: str) -> None:
    levels = task(name).generator.levels
    problem = task(name).problem(Key(seed), level=levels[seed % len(levels)], wording=wording)  # type: ignore[arg-type]
    steps = steps_of(problem)
    assert "".join(steps) == problem.solution and all(steps)
    for share in (0.0, 0.01, 0.5, 1.0):
        hint = hint_of(problem, share=share)
        assert (problem.solution or "").startswith(hint) and len(hint) < len(problem.solution or "")
        assert bool(hint) == (share > 0 and len(steps) > 1)
        assert steps[-1] not in hint or not hint


def test_steps_and_prompts_of_an_example() -> None:
    problem = task("mod-chain").pose({"p": 23, "start": 5, "steps": [["+", 3], ["*", 7], ["-", 2]]}, level=3)
    assert steps_of(problem) == ["5+3=8,", "8*7=10,", "10-2=8#8"]
    assert [hint_of(problem, share=s) for s in (0.0, 0.3, 0.7, 1.0)] == ["", "5+3=8", "5+3=8,8*7=10", "5+3=8,8*7=10"]
    bare = Prompt.of(problem)
    assert bare.with_hint("8").told == "M23 5+3*7-2 [8]" and bare.with_hint("") == bare
    own = dataclasses.replace(problem, hints=("start with the sum",))
    assert hint_of(own, share=0.3) == "start with the sum"
    messages = ({"role": "system", "content": "s"}, {"role": "user", "content": "u"})
    chat = dataclasses.replace(problem, prompt=messages, wording="natural")
    assert Prompt.of(chat).with_hint("8").told == (messages[0], {"role": "user", "content": "u\n\nHint: 8"})


def test_a_share_of_prompts_holds_a_hint() -> None:
    requests = [dataclasses.replace(one, sample=i) for i, one in enumerate(asked(1) * 400)]
    made = hinted(requests, Memory(0), codec=Signs(), share=0.3)
    changed = sum(a.context is not b.context for a, b in zip(requests, made))
    assert abs(changed - 120) < 5 * np.sqrt(400 * 0.3 * 0.7)
    assert [m.context.tolist() for m in hinted(requests, Memory(0), codec=Signs(), share=0.3)] == [
        m.context.tolist() for m in made
    ]


# The retry


def asked(samples: int) -> list[Request]:
    problem = POOL.problem(Key(1))
    context = Signs().render(problem.prompt)
    return [Request(problem, context, "0:0", max_new=6, sample=i) for i in range(samples)]


def judged(rights: Sequence[bool | None], requests: Sequence[Request] | None = None) -> list[Episode]:
    made = [episode([1], reward=None if right is None else float(right)) for right in rights]
    return [dataclasses.replace(e, request=r) for e, r in zip(made, requests or asked(len(rights)))]


def retried(episodes: Sequence[Episode], **changes: object) -> list[Request]:
    values: dict = {"below": 0.001, "share": 0.5, "trained": "question", **changes}
    return retry_with_hint(episodes, codec=Signs(), **values)


def test_a_group_that_is_all_wrong_is_asked_once_more_with_a_hint() -> None:
    first = asked(3)
    again = retried(judged([False, False, None]))
    assert [r.context.tolist() for r in again] == [
        Signs().render(Prompt.of(first[0].problem).with_hint(hint(first)).told).tolist()
    ] * 3
    for old, new in zip(first, again):
        assert new.train_context is not None and new.train_context.tolist() == old.context.tolist()
        assert (new.group, new.tag, new.sample, new.helped) == ("0:0/hint", "hint", old.sample, True)
    assert len({r.id for r in (*first, *again)}) == 6
    under = retried(judged([False] * 3), trained="hinted")
    assert all(r.train_context is None and r.helped for r in under)


def hint(requests: Sequence[Request]) -> str:
    return hint_of(requests[0].problem, share=0.5)


@pytest.mark.parametrize("rights", [[True, False], [True, True], [None, None]])
def test_no_other_group_is_asked_again(rights: list[bool | None]) -> None:
    assert retried(judged(rights)) == []


def test_a_hinted_group_is_not_asked_a_third_time() -> None:
    first = judged([False, False])
    again = retried(first)
    assert retried([*first, *judged([False, False], again)]) == []
    assert retried(first, share=0.0) == []  # no hint, no retry


# Two contexts


def collected(recipe: Recipe, engine: object) -> tuple[list[Row], Memory, object]:
    phases, models, memory = world(recipe), models_of(engine), Memory(5)
    episodes, memory = phases.collect(models, phases.ask(models, phases.source(memory), memory), memory)
    rows, _ = phases.forwards(models, phases.curate(models, episodes, memory), memory)
    return rows, memory, phases


@pytest.mark.slow
def test_the_denominator_is_the_samplers_under_the_hint() -> None:
    """I1: not what the same weights say of the answer under the question alone."""
    engine = beginner()
    rows, _, _ = collected(small(num_prompts=16), engine)
    rows = [row for row in rows if row.episode.request.tag == "hint" and row.in_loss]
    assert rows
    apart = 0.0
    for row in rows:
        request, ids = row.episode.request, row.episode.stream("ids").astype(np.int32)
        np.testing.assert_allclose(row.old, row.episode.stream("old"), atol=1e-5)
        bare = engine.score([Span(row.episode.training_context, ids, request.temperature)])[0].logp
        apart = max(apart, float(np.abs(bare - row.old).max()))
        assert row.episode.training_context.tolist() == Signs().render(request.problem.prompt).tolist()
    assert apart > 0.01


def test_gamma_is_the_quantile_of_the_ratios_of_trained_hinted_tokens() -> None:
    engine = beginner()
    rows, _, _ = collected(small(num_prompts=16), engine)
    ratios = []
    for row in rows:
        if row.episode.request.tag == "hint" and row.in_loss:
            ids = row.episode.stream("ids").astype(np.int32)
            spans = [Span(c, ids) for c in (row.episode.training_context, row.episode.request.context)]
            under_question, under_hint = (scores.logp for scores in engine.score(spans))
            ratios += np.exp(under_question - under_hint).tolist()
    expected = sorted(ratios)[int(0.9 * (len(ratios) - 1))]  # the order statistic at or below the quantile
    above = sorted(ratios)[min(len(ratios) - 1, int(0.9 * (len(ratios) - 1)) + 1)]
    found = {float(row.constants[GAMMA]) for row in rows}
    assert len(found) == 1 and expected - 1e-5 <= found.pop() <= above + 1e-5


@pytest.mark.slow
def test_micro_batches_do_not_change_the_gradient() -> None:
    engine = policy("fp64", vocab=Signs.vocab, context=64)
    recipe = small(num_prompts=8)
    rows, memory, phases = collected(recipe, engine)
    (batch,) = phases.credit(rows, memory)  # type: ignore[attr-defined]
    assert {"hint", ""} == set(batch.tag)
    whole = loss_and_gradient(engine, batch, recipe)
    for size in (1, 3):
        cut = loss_and_gradient(engine, batch, recipe, cut=size)
        assert (cut[1] - whole[1]).norm() <= 1e-10 * whole[1].norm() and whole[1].norm() > 1e-6


@pytest.mark.parametrize(("gate", "factor"), [(Clip(), 1.0), (None, 0.25)])
def test_with_an_empty_hint_the_ratio_is_one(gate: Clip | None, factor: float) -> None:
    """Then gamma is 1 and the shaped gate w gamma / (w + gamma)^2 a quarter; with the ordinary gate nothing differs."""
    engine = policy("fp64", vocab=Signs.vocab, context=64)
    recipe = small(num_prompts=8)
    if gate is not None:
        goal = recipe.mechanism.objective
        case = dataclasses.replace(goal.cases[0], gate=gate)
        mechanism = dataclasses.replace(recipe.mechanism, objective=dataclasses.replace(goal, cases=(case,)))
        recipe = dataclasses.replace(recipe, mechanism=mechanism)
    phases, models, memory = world(recipe), models_of(engine), Memory(5)
    plain = asked(4)
    empty = [dataclasses.replace(r, context=r.context.copy(), train_context=r.context, tag="hint") for r in plain]
    answers = [[6, 5, 1, 0], [2, 0], [6, 1], [5, 5, 2]]
    gradients = []
    for requests in (plain, empty):
        scores = engine.score([Span(r.context, np.array(a, np.int32)) for r, a in zip(requests, answers)])
        rows = [
            Row(dataclasses.replace(episode([segment(a, old=s.logp)], reward=float(i % 2)), request=r))
            for i, (r, a, s) in enumerate(zip(requests, answers, scores))
        ]
        rows, _ = phases.forwards(models, rows, memory)
        (batch,) = phases.credit(rows, memory)
        gradients.append(loss_and_gradient(engine, batch, recipe)[1])
        if requests is empty:
            np.testing.assert_allclose(present(batch.old), np.concatenate([s.logp for s in scores]), atol=1e-6)
            assert float(rows[0].constants[GAMMA]) == pytest.approx(1.0, abs=1e-6)
    assert (gradients[1] - factor * gradients[0]).norm() <= 1e-6 * gradients[0].norm()


@given(st.floats(0.01, 20), st.floats(0.01, 20))
@settings(max_examples=60, deadline=None)
def test_the_gate_is_the_slope_of_the_shaped_ratio(ratio: float, gamma: float) -> None:
    """w d/dw [w / (w + gamma)] by a difference quotient."""
    w, step = torch.tensor([ratio], dtype=torch.float64), 1e-6 * ratio
    constants = {GAMMA: torch.tensor([gamma], dtype=torch.float64)}
    view: Any = SimpleNamespace(constant=constants.__getitem__, spread=lambda per_row: per_row)
    found = shaped_by(w, w, view=view)
    slope = ((ratio + step) / (ratio + step + gamma) - (ratio - step) / (ratio - step + gamma)) / (2 * step)
    assert float(found) == pytest.approx(ratio * slope, rel=1e-6)


# Groups that wait


def mixed(*names: str) -> list[Row]:
    return [Row(episode([1, 2], group=name, sample=i, reward=float(i))) for name in names for i in range(2)]


def trained(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.group for row in rows if row.in_loss and row.in_denominator))


def test_what_waited_trains_first_and_what_is_too_much_waits() -> None:
    """Three a step. Five mixed groups: three train, two wait; then those two and the first of three new ones."""
    first = take_turns(mixed("a", "b", "c", "d", "e"), Memory(0), num_prompts=3)
    assert trained(first) == ["a", "b", "c"] and all(row.in_group for row in first)
    memory = keep_leftovers(Memory(0), rows=first, max_age=1)
    rows = mixed("f", "g", "h")
    rows[0] = rows[0].mark(in_loss=False, in_group=False, in_denominator=False)
    second = take_turns(rows, dataclasses.replace(memory, step=1), num_prompts=3)
    assert trained(second) == ["f", "d", "e"]
    assert [row.wait is not None for row in second] == [False] * 2 + [True] * 4 + [False] * 4
    assert not second[0].in_group
    for row in second[6:]:
        assert row.old is not None and row.old.tolist() == [-1.0, -1.0]  # with which it was sampled
        assert row.episode.provenance == "replay" and row.in_group
    third = keep_leftovers(dataclasses.replace(memory, step=1), rows=second, max_age=1)
    assert list(leftovers(third)) == ["g", "h"]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_no_group_is_lost_or_trained_twice(counts: list[int], num_prompts: int) -> None:
    """In the order of their draws, `num_prompts` a step as long as there are so many."""
    memory, seen, drawn = Memory(0), [], []
    for step, count in enumerate([*counts, 0, 0]):
        names = [f"{step}:{i}" for i in range(min(count, num_prompts))]  # no round draws more
        rows = take_turns(mixed(*names), memory, num_prompts=num_prompts)
        waiting = len(leftovers(memory))
        assert len(trained(rows)) == min(num_prompts, waiting + len(names))
        seen, drawn = [*seen, *trained(rows)], [*drawn, *names]
        memory = dataclasses.replace(keep_leftovers(memory, rows=rows, max_age=1), step=step + 1)
    assert sorted(seen) == sorted(drawn) and not leftovers(memory)


@pytest.mark.parametrize("waiting", [0, 1, 2])
def test_a_refill_counts_those_that_wait(waiting: int) -> None:
    """Two are wanted and one mixed group was drawn: another round unless one waits."""
    held = take_turns(mixed(*"wxyz"[:waiting]), Memory(0), num_prompts=0)
    memory = keep_leftovers(Memory(0), rows=held, max_age=1)
    drawn = [row.episode for row in mixed("a")]
    drawn = [dataclasses.replace(e, request=dataclasses.replace(e.request, draw=0)) for e in drawn]
    values = {"num_prompts": 2, "drawn": 2, "max_rounds": 9, "wanted": "mixed", "share": 1.0, "waiting": [STORE]}
    more = refill(drawn, memory, more=lambda memory, first, count: asked(1), **values)  # type: ignore[arg-type]
    assert bool(more) == (waiting == 0)


@pytest.mark.slow
def test_a_run_trains_each_mixed_group_once_and_the_waiting_ones_as_they_were_sampled() -> None:
    recipe = small(num_prompts=6, num_steps=6, learning_rate=0.01)
    notes, memory = run(recipe, beginner(), pool=POOL, codec=Signs())
    groups = [list(dict.fromkeys(g for b in step for g in b.group)) for step in notes.batches]
    everything = [name for step in groups for name in step]
    assert len(everything) == len(set(everything)) and all(len(step) <= 6 for step in groups)
    late = [[name for name in step if name.split(":")[0] != str(i)] for i, step in enumerate(groups)]
    assert sum(map(len, late)) > 2 and {int(n.split(":")[0]) - i for i, step in enumerate(late) for n in step} == {-1}
    for step, names in zip(notes.rows, late, strict=True):
        for row in step:
            if row.group in names:
                assert row.old is not None and np.array_equal(row.old, row.episode.stream("old"))
    fresh = [e for step in notes.episodes for e in step]
    assert memory.budget.rollouts == len(fresh) and {e.provenance for e in fresh} == {"fresh"}


# In the loop


def test_hinted_answers_count_as_spent_and_not_as_skill() -> None:
    notes, memory = run(small(num_prompts=8, num_steps=1), beginner(), pool=POOL, codec=Signs())
    episodes = notes.episodes[0]
    helped = [e for e in episodes if e.request.helped]
    assert helped and memory.budget.rollouts == len(episodes)
    assert sum(tried for _, tried in memory.store("pass-rates").values()) == len(episodes) - len(helped)


def test_the_mismatch_of_sampler_and_learner_is_measured_under_one_context() -> None:
    notes, _ = run(small(num_prompts=16, num_steps=1), beginner(), pool=POOL, codec=Signs())
    (batch,) = notes.batches[0]
    assert batch.moved.tolist() == [tag == "hint" for tag in batch.tag or ()] and 0 < batch.moved.sum() < len(batch)
    assert notes.stats[0]["policy/sampler_mismatch_max"] < 1e-4


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    recipe = small(num_steps=4, learning_rate=0.02, num_minibatches=2)
    require_resumable(recipe, beginner, after=2, pool=POOL, codec=Signs())


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns_without_hints_what_it_first_could_only_do_with_them() -> None:
    recipe = small(num_prompts=16, group_size=8, num_steps=60, learning_rate=0.01)
    notes, _ = run(recipe, beginner(), pool=POOL, codec=Signs())

    def bare(step: int) -> float:
        return float(np.mean([e.verdict.status == "ok" for e in notes.episodes[step] if not e.request.helped]))  # type: ignore[union-attr]

    first, last = (np.mean([bare(i) for i in steps]) for steps in (range(5), range(-5, 0)))
    shown("rise without hints", last - first, above=0.2)
