"""What a stage counts, which problems are the hardest of the stage before, and a run through all stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import POOL, episode, group_of, policy, recipe_of, register, require_resumable, run
from worded import helped

from assay.known import recipe
from assay.memory import Memory
from assay.methods.exploration.drive import BROAD, hard
from assay.methods.exploration.drive.hardest import STORE, before, hardest, stage_rates
from assay.part import bind
from assay.recipe import Recipe
from assay.source import Pool, Share
from assay.source.epochs import set_of
from assay.types import Episode

PROBLEMS = Pool((Share("mod-chain", (4,)),))
SIZE = 8


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def of(place: int, *rights: bool | None) -> list[Episode]:
    """Answers to the problem at this place of the set."""
    problem = set_of(PROBLEMS, 0, SIZE)[place]
    made = [episode([1], sample=i, reward=None if r is None else float(r)) for i, r in enumerate(rights)]
    return [dataclasses.replace(e, request=dataclasses.replace(e.request, problem=problem)) for e in made]


def counted(memory: Memory, *episodes: Sequence[Episode]) -> Memory:
    return stage_rates(memory, episodes=[e for some in episodes for e in some])


def places(memory: Memory, *, share: float, first: int = 0, count: int = 99, drawn: int = 99) -> list[int]:
    every = [problem.id for problem in set_of(PROBLEMS, 0, SIZE)]
    found = hardest(memory, first, count, pool=PROBLEMS, drawn=drawn, size=SIZE, share=share, place=STORE)
    return [every.index(problem.id) for problem in found]


def test_counts_of_two_stages_by_hand() -> None:
    """Two visits: 1 of 2, then 0 of 2: 1 of 4, the first visit at 0.5. The next stage begins anew and keeps these."""
    memory = counted(Memory(0), of(0, True, False), of(1, None))
    hinted = [dataclasses.replace(e, request=helped(e.request)) for e in of(0, True, True)]
    unjudged = [dataclasses.replace(e, verdict=None) for e in of(1, False)]
    memory = counted(memory, of(0, False, False), hinted, unjudged)
    (name,) = memory.store(STORE)["now"]
    assert memory.store(STORE)["now"][name] == [1, 4, 0.5] and before(memory, STORE) == {}
    later = dataclasses.replace(memory, stage=1)
    assert before(later, STORE) == {name: [1, 4, 0.5]}, "before the first step of the stage"
    later = counted(later, of(0, True))
    assert before(later, STORE) == {name: [1, 4, 0.5]} and later.store(STORE)["now"][name] == [1, 1, 1.0]
    again = counted(dataclasses.replace(later, stage=2), of(1, True))
    assert before(again, STORE) == {name: [1, 1, 1.0]}


def test_the_hardest_by_hand() -> None:
    """Rates 1/2, 0, 1/4, 1/4 with first visits 1/2, 0, 1/2, 0; of four the half: places 1 and 3."""
    memory = counted(Memory(0), of(0, True, False), of(1, False, False), of(2, True, False), of(3, False, False))
    memory = counted(memory, of(2, False, False), of(3, True, False), of(0, True, False))
    memory = dataclasses.replace(memory, stage=1)
    assert sorted(places(memory, share=0.5)) == [1, 3]
    assert sorted(places(memory, share=0.75)) == [1, 2, 3]
    assert places(memory, share=0.01) == [1], "one at least"
    assert len(places(memory, share=1.0)) == 4, "a round has no problem twice"
    assert sorted(places(Memory(0), share=0.5)) == list(range(SIZE)), "nothing was tried"


@pytest.mark.parametrize("drawn", [2, 4, 99])
def test_each_step_takes_the_places_after_those_of_the_one_before(drawn: int) -> None:
    """An epoch of four problems is two steps of two, or one step that asks for four or more. A refill asks for places
    within the step or beyond it.
    """
    memory = dataclasses.replace(counted(Memory(0), *(of(place, False) for place in range(4))), stage=1)
    epochs = [place for step in (0, 1) for place in places(dataclasses.replace(memory, step=step), share=1.0)]
    assert sorted(epochs[:4]) == sorted(epochs[4:]) == [0, 1, 2, 3]
    for step in range(2):
        begin, now = step * min(drawn, 4), dataclasses.replace(memory, step=step)
        assert places(now, share=1.0, count=2, drawn=drawn) == epochs[begin : begin + 2]
        assert places(now, share=1.0, first=1, count=2, drawn=drawn) == epochs[begin + 1 : begin + 3]


def test_advantages_of_broad_and_hard_problems_by_hand() -> None:
    """Of 1, 0, 0, 0 the mean is 1/4 and the std, of three degrees of freedom, (3/4 / 3)^0.5 = 1/2."""
    for mechanism in (BROAD, hard(72, 175)):
        rows = bind(mechanism.credit)(group_of([1.0, 0.0, 0.0, 0.0]))
        assert [row.advantage[0] for row in rows] == pytest.approx([1.5, -0.5, -0.5, -0.5], abs=1e-5)


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=SIZE), st.floats(0.1, 1))
def test_nobody_harder_is_left_out_and_each_comes_once_an_epoch(rights: list[list[bool]], share: float) -> None:
    memory = counted(Memory(0), *(of(place, *some) for place, some in enumerate(rights)))
    memory = dataclasses.replace(memory, stage=1)
    chosen = places(memory, share=share)
    assert len(chosen) == len(set(chosen)) == max(1, round(share * len(rights)))
    rate = [sum(some) / len(some) for some in rights]
    others = set(range(len(rights))) - set(chosen)
    assert all(rate[place] >= max(rate[c] for c in chosen) for place in others)
    steps = [dataclasses.replace(memory, step=len(chosen) + step) for step in range(len(chosen))]
    assert sorted(p for step in steps for p in places(step, share=share, count=1, drawn=1)) == sorted(chosen)


def small(**scale: object) -> Recipe:
    return recipe_of("drive", max_new=8, **{"num_prompts": 2, "group_size": 8, "num_steps": 40, **scale})


def test_the_phases_keep_72_50_and_25_of_175() -> None:
    """And at another number of prompts the same shares."""
    left = 175
    for stage, expected in zip(recipe("drive").stages[2:], (72, 50, 25), strict=True):
        assert stage.mechanism is not None
        left = round(stage.mechanism.source.share * left)  # type: ignore[attr-defined]
        assert left == expected
    assert [stage.share for stage in recipe("drive").stages] == [32, 8, 57, 32, 32]


def test_a_run_goes_from_short_and_few_answers_to_many() -> None:
    made = small()
    names = [stage.name for stage in made.stages]
    notes, memory = run(made, policy("fp32", vocab=4), pool=POOL)
    sizes = [len(step) // len({e.request.group for e in step}) for step in notes.episodes]
    longest = [max(e.request.max_new for e in step) for step in notes.episodes]
    examined = [not any(row.in_loss for row in rows) and size == 2 for rows, size in zip(notes.rows, sizes)]
    assert names[1] == "examine" and any(examined), "a step that teaches nothing"
    assert sizes[0] == 2 and longest[0] == 6 and sizes[-1] == 8 and longest[-1] == 8
    assert memory.stage == 4 and before(memory, STORE)


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_its_hardest_problems() -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4), after=12)
