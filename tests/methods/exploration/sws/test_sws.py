"""Weak problems, how many new ones each category gets, of which concepts these are, and a run of both stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from altered import altered
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode, policy, recipe_of, register, require_resumable, run
from worded import helped

from assay.memory import Memory
from assay.methods.exploration.sws.synthesis import WithSynthesised, made_after, with_synthesised
from assay.methods.exploration.sws.weakness import STORE, allotted, keep_curves, slope, weak
from assay.recipe import Recipe
from assay.rng import Key
from assay.source import Pool, Share
from assay.source.epochs import set_of
from assay.tasks import TASKS, task
from assay.tasks.abilities import concepts_of
from assay.types import Episode, Problem

LISTS = Pool((Share("list-fn", (1, 2)), Share("mod-chain", (1, 2))))
SIZE = 24


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def to(problem: Problem, *rights: bool | None) -> list[Episode]:
    made = [episode([1], sample=i, reward=None if r is None else float(r)) for i, r in enumerate(rights)]
    return [dataclasses.replace(e, request=dataclasses.replace(e.request, problem=problem)) for e in made]


def test_curves_by_hand() -> None:
    one, two, *_ = set_of(LISTS, 0, SIZE)
    memory = keep_curves(Memory(0), episodes=[*to(one, True, False, False, None), *to(two, None)])
    hinted = [dataclasses.replace(e, request=helped(e.request)) for e in to(one, True, True)]
    unjudged = [dataclasses.replace(e, verdict=None) for e in to(two, False)]
    memory = keep_curves(memory, episodes=[*to(one, False, False), *to(two, True), *hinted, *unjudged])
    assert memory.store(STORE) == {one.id: [pytest.approx(1 / 3), 0.0], two.id: [1.0]}


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([0.0], True),
        ([0.5], False),
        ([0.4, 0.2], True),
        ([0.2, 0.4], False),
        ([0.3, 0.4, 0.3], True),
        ([0.6, 0.1], False),
    ],
)
def test_weak_by_hand(curve: Sequence[float], expected: bool) -> None:
    """Slopes 0, 0, -0.2, 0.2, 0, -0.5; the highest must be below a half."""
    assert weak(curve, below=0.5) is expected


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9), st.floats(-1, 1))
def test_a_slope_is_that_of_the_best_line_and_knows_no_height(values: list[float], height: float) -> None:
    expected = np.polyfit(np.arange(len(values)), np.array(values), 1)[0]
    assert slope(values) == pytest.approx(expected, abs=1e-9)
    assert slope([v + height for v in values]) == pytest.approx(slope(values), abs=1e-9)


def test_a_curve_that_does_not_move_has_no_slope_to_the_last_bit() -> None:
    """So that a problem of which a third is right at every visit is weak."""
    for answers in range(2, 8):
        for visits in range(1, 10):
            curves = [[right / answers] * visits for right in range(answers)]
            assert [slope(curve) for curve in curves] == [0.0] * answers
            assert all(weak(curve, below=1.0) for curve in curves)


def test_numbers_of_new_problems_by_hand() -> None:
    """Shares of 1/4 and 2/4 of 10: 3.33 and 6.67, in whole numbers 3 and 7; nobody is weak in c."""
    assert allotted({"a": (1, 4), "b": (2, 4), "c": (0, 9)}, 10) == {"a": 3, "b": 7}
    assert allotted({"c": (0, 9)}, 10) == {}


@given(
    found=st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.integers(0, 9), st.integers(9, 20))),
    count=st.integers(0, 99),
)
def test_numbers_add_up_and_follow_the_shares(found: dict[str, tuple[int, int]], count: int) -> None:
    numbers = allotted(found, count)
    rates = {name: number / tried for name, (number, tried) in found.items() if number}
    assert numbers.keys() == rates.keys() and sum(numbers.values()) == (count if rates else 0)
    for name, number in numbers.items():
        assert abs(number - count * rates[name] / sum(rates.values())) < 1


def of(memory: Memory, *, added: int, by_weakness: bool = True, step: int = 0) -> list[Problem]:
    """A whole epoch of the second stage."""
    values = {"pool": LISTS, "size": SIZE, "added": added, "below": 0.5, "by_weakness": by_weakness, "place": STORE}
    total = SIZE + added
    return with_synthesised(dataclasses.replace(memory, step=step), 0, total, drawn=total, **values)  # type: ignore[arg-type]


def test_new_problems_have_the_concepts_of_weak_ones_in_their_numbers() -> None:
    """One weak list function among all those problems, and no weak chain: all 30 new problems have it."""
    problems = set_of(LISTS, 0, SIZE)
    bad = next(p for p in problems if p.task == "list-fn" and p.level == 1)
    (concept,) = concepts_of(task("list-fn"), bad)
    memory = Memory(0).keep(STORE, {p.id: [0.25, 0.0] if p is bad else [0.5, 1.0] for p in problems})
    drawn = of(memory, added=30)
    new = [p for p in drawn if p.provenance == "synthesised"]
    assert sorted(p.id for p in drawn if p.provenance == "task") == sorted(p.id for p in problems)
    assert len(new) == 30 and all(concept in concepts_of(task("list-fn"), p) and p.parents == (bad.id,) for p in new)
    assert {p.level for p in new} == {1, 2} and all(TASKS[p.task].split_of(p.spec) == "train" for p in new)
    again = of(memory, added=30, step=1)
    assert sorted(p.id for p in again) == sorted(p.id for p in drawn), "an epoch has the same problems"
    assert [p.id for p in again] != [p.id for p in drawn]
    values = {"pool": LISTS, "size": SIZE, "added": 30, "below": 0.5, "by_weakness": True, "place": STORE}
    later = with_synthesised(dataclasses.replace(memory, step=1), 40, 6, drawn=SIZE + 30, **values)  # type: ignore[arg-type]
    assert [p.id for p in later] == [p.id for p in again][40:46], "a refill goes on where the step stopped"


def test_without_weak_problems_the_set_alone_is_drawn_and_uniformly_all_are_models() -> None:
    problems = set_of(LISTS, 0, SIZE)
    values = {"pool": LISTS, "drawn": 9, "size": SIZE, "added": 30, "below": 0.5, "by_weakness": True, "place": STORE}
    drawn = with_synthesised(Memory(0), 0, 9, **values)  # type: ignore[arg-type]
    assert {p.provenance for p in drawn} == {"task"}
    new = [p for p in of(Memory(0), added=SIZE, by_weakness=False) if p.provenance == "synthesised"]
    assert sorted(p.parents[0] for p in new) == sorted(p.id for p in problems)


def test_concepts_of_a_task() -> None:
    assert concepts_of(task("mod-chain"), task("mod-chain").problem(Key(0), level=2)) == ("level 2",)
    lists = task("list-fn").pose({"numbers": [1, 2, 3, 4, 5], "functions": ["s", "+3", "+1"]}, level=3)
    assert concepts_of(task("list-fn"), lists) == ("+", "s")


def test_a_problem_whose_concept_no_level_has_is_trained_on_again() -> None:
    hard = task("mod-chain").problem(Key(0), level=5)
    assert made_after(hard, LISTS, Key(0)) is hard


def test_a_rare_concept_is_found() -> None:
    """One in seventy problems of the first level has the function `e`."""
    pool = Pool((Share("list-fn", (1,)),))
    rare = task("list-fn").pose({"numbers": [1, 2, 3, 4], "functions": ["e"]}, level=1)
    made = [made_after(rare, pool, Key(seed)) for seed in range(200)]
    assert all(p.provenance == "synthesised" and "e" in concepts_of(task("list-fn"), p) for p in made)


def test_rows_of_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = altered(task("tiny"), rows=lambda split: ())
    monkeypatch.setitem(TASKS, "tiny", rows)
    assert "cannot be made" in str(WithSynthesised().unfit(Pool((Share("tiny"),))))
    assert WithSynthesised().unfit(LISTS) is None


def small() -> Recipe:
    return recipe_of("sws", max_new=4, num_prompts=4, group_size=4, num_steps=12)


def test_a_run_identifies_and_then_retrains_from_the_base() -> None:
    notes, memory = run(small(), policy("fp32", vocab=4, init_std=0.1))
    assert memory.stage == 1 and memory.store(STORE)
    visits = next(iter(memory.store(STORE).values()))
    assert len(visits) == 3, "a quarter of the steps, and the second stage counts none"
    for rows in notes.rows[3:]:
        for row in rows:
            right = [r.episode.right for r in rows if r.group == row.group]
            assert row.in_loss == (0.125 <= np.mean(right) <= 0.875)


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_its_curves() -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4, init_std=0.1), after=5)
