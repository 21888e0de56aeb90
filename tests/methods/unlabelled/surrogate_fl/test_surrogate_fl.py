"""Form and length by hand, and what must hold of the bump."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from voting import answered

from assay.methods.unlabelled.surrogate_fl.surrogate import Surrogate, bump
from assay.part import bind
from assay.types import Episode, Verdict


def earned(part: Surrogate, episodes: list[Episode]) -> list[float]:
    return [found.value for found in bind(part, max_new=8)(episodes)]


def test_the_bump_by_hand() -> None:
    """1 - (1 - 1/2)^2 at half of the way up; 1 - 2 (1/2)^2 at half of the way down."""
    assert [bump(x, turn=0.5) for x in (0.0, 0.25, 0.5, 0.75, 1.0)] == [0.0, 0.75, 1.0, 0.5, -1.0]
    assert [bump(x, turn=0.2) for x in (0.1, 0.6)] == pytest.approx([0.75, 0.5])


@given(st.floats(0, 1), st.floats(0.05, 0.95))
def test_the_bump_is_best_at_its_turn_and_continuous_there(x: float, turn: float) -> None:
    assert -1 - 1e-9 <= bump(x, turn=turn) <= 1.0 == bump(turn, turn=turn)
    assert bump(turn + 1e-9, turn=turn) == pytest.approx(1.0)


def test_form_and_length_by_hand() -> None:
    """Of the limit of 8: 4 tokens are at the turn, 2 at half of the way up, 8 at the limit. A wrong answer can be read
    like a right one; a malformed one earns at most nothing.
    """
    read, wrong, cut, bad = answered("7", "8", "", "?", right="7", lengths=[4, 2, 8, 4])
    bad = dataclasses.replace(bad, verdict=Verdict.fail("format"))
    cut = dataclasses.replace(cut, verdict=Verdict.fail("truncated"))
    assert earned(Surrogate(), [read, wrong, cut, bad]) == [2.0, 1.75, -1.0, 0.0]
    assert earned(Surrogate(length=False), [read, wrong, cut, bad]) == [1.0, 1.0, 0.0, 0.5]
    early = dataclasses.replace(read, finish="length", verdict=Verdict.fail("wrong"))
    unjudged = dataclasses.replace(read, verdict=None)
    assert earned(Surrogate(), [early, unjudged]) == [0.0, 0.0], "what was cut, and what nobody read, at the turn"
    assert earned(Surrogate(length=False), [early, unjudged]) == [0.0, 0.5]


def test_a_turn_at_an_end_is_refused() -> None:
    assert Surrogate(turn=1.0).refusal() and Surrogate().refusal() is None
