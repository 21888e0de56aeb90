"""BREAD: the shortest beginning of a solution that helps."""

from __future__ import annotations

import dataclasses

import pytest
from demonstrated import MAX_NEW, requests, small
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import END, episode, require_resumable, segment
from worked import POOL, Signs, beginner, register

from assay.methods.demonstrations.bread.anchors import anchor_search, next_count, pieces_of
from assay.methods.demonstrations.bread.curate import on_anchor
from assay.types import Episode, Origin, Problem, Row


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_the_search_halves_what_is_left() -> None:
    assert next_count({}, 9, 0.25, 0.75) == 5
    assert next_count({5: 0.0}, 9, 0.25, 0.75) == 7
    assert next_count({5: 1.0}, 9, 0.25, 0.75) == 2
    assert next_count({5: 0.0, 7: 1.0}, 9, 0.25, 0.75) == 6
    assert next_count({5: 0.0, 7: 1.0, 6: 0.0}, 9, 0.25, 0.75) == 0
    assert next_count({5: 0.5}, 9, 0.25, 0.75) == 0
    assert next_count({1: 1.0}, 1, 0.25, 0.75) == 0


@settings(max_examples=60, deadline=None)
@given(most=st.integers(1, 12), edge=st.integers(0, 13), seed=st.integers(0, 99))
def test_the_search_finds_a_band_of_growing_success_in_four_probes_of_fifteen(most: int, edge: int, seed: int) -> None:
    """Success grows with what is given: the band at one place is found, or there is none."""
    share = {count: 0.0 if count < edge else 0.5 if count == edge else 1.0 for count in range(1, most + 1)}
    seen: dict[int, float] = {}
    while count := next_count(seen, most, 0.25, 0.75):
        assert count not in seen and 1 <= count <= most
        seen[count] = share[count]
        assert len(seen) <= 4
    assert (edge in seen) == (edge in share)


def test_pieces_are_whole_steps_and_end_to_end_the_solution() -> None:
    problem = Problem("mod-chain", "q", {}, "q", solution="1+2=3,3*2=6,6-1=5,5+5=10#10")
    for count in (2, 3, 5, 10):
        pieces = pieces_of(problem, count)
        assert "".join(pieces) == problem.solution and len(pieces) == min(count, 5)
        assert all(piece.endswith((",", "#", "0")) for piece in pieces)


def probed(base: list[bool], shares: dict[int, list[bool]]) -> list[Episode]:
    """A group from the question, and one from each number of pieces."""
    asked = requests(len(base))
    made = [
        dataclasses.replace(episode([1, END], reward=float(r)), request=q) for r, q in zip(base, asked, strict=True)
    ]
    for count, rights in shares.items():
        group, tag = f"{asked[0].group}/anchor {count}", f"anchor {count}"
        given_ = (segment([1] * count, origin=Origin.INJECTED),)
        for r, q in zip(rights, asked, strict=True):
            request = dataclasses.replace(q, group=group, tag=tag, prefix=given_, max_new=4)
            made.append(dataclasses.replace(episode([*given_, segment([END])], reward=float(r)), request=request))
    return made


def test_only_an_unsolved_group_is_led() -> None:
    values = {"codec": Signs(), "pieces": 10, "low": 0.25, "high": 0.75, "probes": 4}
    assert anchor_search(probed([True, False], {}), **values) == []  # type: ignore[arg-type]
    asked = anchor_search(probed([False, False], {}), **values)  # type: ignore[arg-type]
    assert len(asked) == 2 and len({r.group for r in asked}) == 1 and asked[0].given > 0
    assert all((s.origin == Origin.INJECTED).all() for s in asked[0].prefix)
    assert asked[0].given + asked[0].max_new == MAX_NEW
    assert anchor_search(probed([False, False], {1: [True, False]}), **values) == []  # type: ignore[arg-type]
    assert anchor_search(probed([False, False], {1: [False, False]}), **{**values, "probes": 1}) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "shares", "chosen"),
    [
        ([True, False], {}, 0),
        ([False, False], {}, 0),
        ([False, False], {2: [False, False], 3: [True, False]}, 3),
        ([False, False], {2: [True, True], 3: [True, True]}, 2),
        ([False, False], {2: [False, False]}, None),
    ],
)
def test_one_group_of_a_problem_trains(base: list[bool], shares: dict[int, list[bool]], chosen: int | None) -> None:
    rows = on_anchor([Row(e) for e in probed(base, shares)], low=0.25, high=0.75)
    places = [0] * len(base) + [count for count in shares for _ in base]
    assert [row.in_loss for row in rows] == [place == chosen for place in places]


@pytest.mark.slow
def test_a_run_of_bread_that_is_stopped_goes_on_to_the_same_bits() -> None:
    require_resumable(small("bread", group_size=4), beginner, after=2, pool=POOL, codec=Signs())
