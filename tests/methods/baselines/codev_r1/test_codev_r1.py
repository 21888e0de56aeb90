"""CodeV-R1: how many prompts each round draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import END, POOL, episode, policy, recipe_of, register, require_resumable, run

from assay.memory import Memory
from assay.methods.baselines.codev_r1.draw import STORE, AdaptiveRefill, FirstDraw, TrackMixed, rounded, share_of
from assay.part import bind
from assay.types import Episode, Request, Verdict


def group(ordinal: int, *right: bool | None) -> list[Episode]:
    """The answers to the prompt of this ordinal; None: an answer that an error of ours left without a verdict."""
    made = []
    for sample, yes in enumerate(right):
        verdict = Verdict.invalid("bug") if yes is None else (Verdict.ok() if yes else Verdict.fail("wrong"))
        answer = episode([1, END], group=f"0:{ordinal}", sample=sample)
        request = dataclasses.replace(answer.request, draw=ordinal)
        made.append(dataclasses.replace(answer, request=request, verdict=verdict))
    return made


class Drawn:
    """Stands for the source: remembers how many prompts were asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def __call__(self, *given: Any) -> list[Request]:
        self.asked.append(given[-2:])
        return [answer.request for ordinal in range(given[-1]) for answer in group(given[-2] + ordinal, True)]


def refilled(episodes: Sequence[Episode], memory: Memory, *, most: int = 10, num_prompts: int = 4) -> tuple[int, int]:
    """(first ordinal, number of prompts) of the next round; (0, 0) if there is none."""
    more = Drawn()
    found = bind(AdaptiveRefill(most=most), num_prompts=num_prompts, place=STORE)(episodes, memory, more=more)
    assert bool(found) == bool(more.asked)
    return more.asked[0] if more.asked else (0, 0)


MIXED, SOLVED, LOST = (True, False), (True, True), (None, False)


def test_a_round_draws_what_is_missing_divided_by_the_share() -> None:
    """Four prompts, one group of them mixed: 3 missing, share 1/4, so 12 more. With two mixed: 2 / (1/2) = 4."""
    one = [e for i, kind in enumerate([MIXED, SOLVED, SOLVED, LOST]) for e in group(i, *kind)]
    two = [e for i, kind in enumerate([MIXED, SOLVED, MIXED, SOLVED]) for e in group(i, *kind)]
    four = [e for i in range(4) for e in group(i, *MIXED)]
    assert refilled(one, Memory(0)) == (4, 12)
    assert refilled(two, Memory(0)) == (4, 4)
    assert refilled(four, Memory(0)) == (0, 0)
    hard = Memory(0).keep(STORE, {"share": 0.1})
    assert refilled(two, hard) == (4, 20)


def test_a_step_draws_at_most_so_many_times_its_prompts() -> None:
    none = [e for i in range(4) for e in group(i, *SOLVED)]
    assert refilled(none, Memory(0), most=3) == (4, 8)
    assert refilled([*none, *(e for i in range(4, 12) for e in group(i, *SOLVED))], Memory(0), most=3) == (0, 0)


def test_taught_answers_count_among_those_that_were_drawn() -> None:
    """All of them are right, so that no group is ever mixed: at the cap the step trains on what it has."""
    taught = [dataclasses.replace(e, provenance="teacher") for i in range(12) for e in group(i, *SOLVED)]
    assert refilled(taught[:8], Memory(0), most=3) == (4, 8)
    assert refilled(taught, Memory(0), most=3) == (0, 0)


@settings(max_examples=200, deadline=None)
@given(missing=st.integers(1, 500), share=st.floats(0.0, 1.0), left=st.integers(1, 5000))
def test_the_number_of_prompts_is_enough_and_within_bounds(missing: int, share: float, left: int) -> None:
    count = rounded(missing, share, left)
    assert 1 <= count <= max(left, missing)
    assert count == left or (count * share >= missing * (1 - 1e-9) and (count - 1) * share < missing)


def test_the_first_round_knows_the_share_of_earlier_steps() -> None:
    def collect(models: Any, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        seen.append(len(requests))
        return [], memory

    requests = [answer.request for i in range(4) for answer in group(i, True)]
    for share, wanted in ((1.0, 4), (0.5, 8), (0.3, 14), (0.001, 40)):
        seen: list[int] = []
        more = Drawn()
        drawing = bind(FirstDraw(most=10), num_prompts=4, place=STORE)(collect, more=more)
        drawing(None, requests, Memory(0).keep(STORE, {"share": share}))
        assert seen == [wanted]
        assert more.asked == ([] if wanted == 4 else [(4, wanted - 4)])


def test_the_share_is_the_least_or_follows() -> None:
    def step(memory: Memory, mixed: int, of: int, part: TrackMixed) -> Memory:
        episodes = [e for i in range(of) for e in group(i, *(MIXED if i < mixed else SOLVED))]
        return bind(part, place=STORE)(memory, episodes=episodes)

    least, mean = Memory(0), Memory(0)
    for mixed, of, at_least, average in ((2, 4, 0.5, 0.5), (4, 4, 0.5, 0.75), (1, 4, 0.25, 0.5), (4, 4, 0.25, 0.75)):
        least = step(least, mixed, of, TrackMixed())
        mean = step(mean, mixed, of, TrackMixed(estimate="average", decay=0.5))
        assert share_of(least, STORE) == at_least
        assert share_of(mean, STORE) == pytest.approx(average)
    replayed = [dataclasses.replace(e, provenance="replay") for e in group(9, *SOLVED)]
    for none in ([], replayed):
        assert bind(TrackMixed(), place=STORE)(least, episodes=none).store(STORE) == {"share": 0.25}


@pytest.mark.slow
def test_a_run_draws_by_its_share_and_resumes_with_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("codev-r1", num_steps=4, num_prompts=4, group_size=4)
    notes, memory = run(recipe, policy(), pool=POOL)
    assert 0 <= memory.store(STORE)["share"] <= 1
    require_resumable(recipe, policy, after=2, pool=POOL)
    drawn = [1 + max(e.request.draw for e in episodes) for episodes in notes.episodes]
    assert len(drawn) == 4 and max(drawn) <= 40 and max(drawn) > 4
