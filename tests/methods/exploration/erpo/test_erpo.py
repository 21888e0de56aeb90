"""Prompts that are solved: a failure made up in their baseline, a temperature that rises with their history."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_draws import shown
from tiny import TINY, episode, group_of, models_of, phases_of, policy, recipe_of, register, require_resumable, run
from typed import present
from worded import helped

from assay.ask import Sampling
from assay.collect.expand import refill
from assay.engine.interface import Span
from assay.memory import Memory
from assay.methods.exploration.erpo.pseudo import pseudo_failure
from assay.methods.exploration.erpo.solved import solved_groups
from assay.methods.exploration.erpo.temperature import own_temperature
from assay.methods.exploration.erpo.track import STORE, track_temperature
from assay.recipe import Recipe
from assay.types import Row


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TINY)


def small(**scale: object) -> Recipe:
    return recipe_of("erpo", max_new=4, **{"num_prompts": 4, "group_size": 4, "warmup_steps": 0, **scale})


def credited(rewards: Sequence[float], *, failure: float = 0.0, ddof: int = 0) -> list[float]:
    rows = pseudo_failure(group_of(rewards), failure=failure, ddof=ddof, epsilon=0.0)
    return [float(row.advantage[0]) for row in rows]  # type: ignore[index]


# The failure


@pytest.mark.parametrize("size", [1, 2, 4, 9, 16])
def test_a_group_without_a_mistake_gets_one_over_the_root_of_its_size(size: int) -> None:
    """S = G ones and a zero: mean G / (G + 1), population variance G / (G + 1)^2, sample variance 1 / (G + 1)."""
    assert credited([1.0] * size) == pytest.approx([1 / np.sqrt(size)] * size)
    assert credited([1.0] * size, ddof=1) == pytest.approx([1 / np.sqrt(size + 1)] * size)
    assert credited([1.0] * size, failure=-1.0) == pytest.approx([1 / np.sqrt(size)] * size)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=9), st.sampled_from([0, 1]))
@settings(max_examples=80, deadline=None)
def test_other_groups_are_as_they_were(rewards: list[float], ddof: int) -> None:
    if min(rewards) == 1.0:
        assert min(credited(rewards, ddof=ddof)) > 0
        return
    spread = np.std(rewards, ddof=ddof)
    expected = (np.array(rewards) - np.mean(rewards)) / spread if spread else np.zeros(len(rewards))
    assert credited(rewards, ddof=ddof) == pytest.approx(expected.tolist())


def test_groups_do_not_see_each_other() -> None:
    rows = [*group_of([1.0, 1.0], name="a"), *group_of([0.0, 1.0], name="b"), *group_of([0.0, 0.0], name="c")]
    found = [row.advantage[0] for row in pseudo_failure(rows, failure=0.0, ddof=0, epsilon=0.0)]  # type: ignore[index]
    assert found == pytest.approx([2**-0.5, 2**-0.5, -1.0, 1.0, 0.0, 0.0])


# Which groups stay


def test_solved_groups_stay_and_count_for_the_refill() -> None:
    rows = [*group_of([1, 1], name="a"), *group_of([0, 1], name="b"), *group_of([0, 0], name="c")]
    rows += group_of([None, 1], name="d")
    assert [row.in_loss for row in solved_groups(rows)] == [True] * 4 + [False] * 2 + [True] * 2
    episodes = [row.episode for row in rows]
    asked: list[int] = []

    def more(memory: Memory, first: int, count: int) -> list:
        asked.append(count)
        return []

    for num_prompts, wanted in ((1, "mixed"), (2, "mixed"), (3, "solved"), (4, "solved")):
        counts: dict[str, Any] = {"num_prompts": num_prompts, "drawn": 400, "max_rounds": 5}
        refill(episodes, Memory(0), more=more, wanted=wanted, share=1.0, **counts)
    assert len(asked) == 2  # one mixed group, three solved ones


# The temperature


def visit(memory: Memory, *groups: tuple[str, Sequence[bool | None]]) -> Memory:
    """Answers to the problem of each prompt."""
    episodes = [
        episode([1], group=f"{g}", sample=i, prompt=prompt, reward=None if right is None else float(right))
        for g, (prompt, rights) in enumerate(groups)
        for i, right in enumerate(rights)
    ]
    return track_temperature(memory, episodes=episodes, sampling=Sampling(4, temperature=1.0), step=0.05, highest=1.3)


def temperature(memory: Memory, prompt: str) -> float:
    return own_temperature([episode([1], prompt=prompt).request], memory)[0].temperature


def test_it_rises_falls_and_waits() -> None:
    memory, seen = Memory(0), []
    right, mixed, wrong, failed = [True, True], [True, False], [False, False], [None, None]
    for rights in (right, right, wrong, failed, mixed, mixed, mixed, [True, None]):
        memory = visit(memory, ("a", rights), ("b", wrong))
        seen.append(temperature(memory, "a"))
    assert seen == [1.05, 1.1, 1.1, 1.1, 1.05, 1.0, 1.0, 1.05]
    assert temperature(memory, "b") == 1.0 and len(memory.store(STORE)) == 1


def test_answers_with_a_hint_move_nothing() -> None:
    made = [episode([1], sample=i, reward=1.0) for i in range(4)]
    hinted = [dataclasses.replace(e, request=helped(e.request)) for e in made]
    settings = {"sampling": Sampling(4, temperature=1.0), "step": 0.05, "highest": 1.3}
    assert track_temperature(Memory(0), episodes=made, **settings).store(STORE)
    assert not track_temperature(Memory(0), episodes=hinted, **settings).store(STORE)


def test_it_never_passes_its_cap_nor_falls_below_the_run() -> None:
    memory = Memory(0)
    for count in range(1, 12):
        memory = visit(memory, ("a", [True]))
        assert temperature(memory, "a") == pytest.approx(min(1.3, 1 + 0.05 * count))


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=3), max_size=30))
@settings(max_examples=50, deadline=None)
def test_it_is_a_walk_between_two_walls(visits: list[list[bool]]) -> None:
    memory, notches = Memory(0), 0
    for rights in visits:
        memory = visit(memory, ("a", rights))
        notches = min(6, notches + 1) if all(rights) else max(0, notches - 1) if any(rights) else notches
        assert temperature(memory, "a") == pytest.approx(1 + 0.05 * notches)


def test_ratios_are_one_at_every_temperature_of_the_batch() -> None:
    """Rows of 0.7 and 1.3 in one batch: old is what the row was sampled with, and the first update has ratio 1."""
    engine, recipe = policy("fp32", vocab=5), small(num_minibatches=2)
    phases, models = phases_of(recipe), models_of(engine)
    problems = phases.source(Memory(0))
    for heat in (0.7, 1.3):
        memory = Memory(0).keep(STORE, {problems[0].id: heat})
        asked = phases.ask(models, problems, memory)
        assert {r.temperature for r in asked} == {heat}
    memory = Memory(0)
    mixed = [dataclasses.replace(r, temperature=(0.7, 1.3)[r.sample % 2]) for r in asked]
    episodes = [e for e in phases.collect(models, mixed, memory)[0] if e.request.temperature != 1.0]
    rows, _ = phases.forwards(models, [Row(e) for e in episodes], memory)
    for row in rows:
        span = Span(row.episode.request.context, row.episode.stream("ids").astype(np.int32))
        at_one = engine.score([span])[0].logp
        old = present(row.old)
        np.testing.assert_allclose(old, row.episode.stream("old"), atol=1e-5)
        assert np.abs(old - at_one).max() > 1e-3
    phases = phases_of(small(num_minibatches=1))
    (batch,) = phases.credit([row.mark(advantage=None) for row in rows], memory)
    stats = phases.improve(models, batch, memory)
    assert stats["policy/ratio"] == pytest.approx(1.0, abs=1e-6)
    assert stats["policy/ratio_max"] == pytest.approx(1.0, abs=1e-4)


# In the loop


@pytest.mark.slow
def test_solved_problems_get_hotter_and_a_stopped_run_goes_on() -> None:
    recipe = small(num_steps=6, learning_rate=0.03, num_minibatches=2)
    memory = require_resumable(recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=4)
    assert all(1.0 < heat <= 1.3 for heat in memory.store(STORE).values())


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns_and_solved_groups_train() -> None:
    recipe = small(num_prompts=8, group_size=8, num_steps=24, learning_rate=0.01)
    notes, memory = run(recipe, policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1))
    accuracy = notes.accuracy()
    shown("rise", accuracy[-6:].mean() - accuracy[:6].mean(), above=0.2)
    solved = [s for s in notes.stats if s["policy/effective_fraction"] == 1.0]
    assert solved and memory.store(STORE)
