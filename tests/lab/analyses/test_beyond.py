"""`math-beyond`: the zero set, its floor, and pairs that are taught, sharpened and the same."""

from __future__ import annotations

import numpy as np
import pytest
from answered import drawn, of_banks, of_counts
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.lab.analyses import measure
from assay.lab.analyses.beyond import above_floor
from assay.lab.analyses.measure import Lacking
from assay.scoring.boundary import Counts

BEYOND = measure("math-beyond")


def counts(n: int, *c: int) -> Counts:
    return Counts(np.full(len(c), n), np.array(c))


def test_what_lies_beyond_by_hand() -> None:
    """n = 1 of two samples: the base misses with 1, 1/2 and 0; two more samples at 1, 0 and 0. The child solves 1/2, 1
    and 0 of them: (1/2 + 1/2) / (3/2) against (3/2 - 1) / (3/2).
    """
    found = above_floor(counts(2, 0, 1, 2), counts(2, 1, 2, 0), 1)
    assert found.mean == pytest.approx(2 / 3 - 1 / 3)
    assert found.low <= found.mean <= found.high


@settings(max_examples=15)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=8).filter(lambda c: min(c) <= 2))
def test_a_child_that_solves_nothing_is_never_above(c: list[int]) -> None:
    assert above_floor(counts(4, *c), counts(4, *[0] * len(c)), 2).mean <= 1e-12


@pytest.mark.slow
def test_teaching_is_seen_and_sampling_again_is_not() -> None:
    generator = np.random.default_rng(0)
    chances = np.where(np.arange(120) < 60, 0.0, generator.beta(1.0, 2.0, 120))
    base = drawn(chances, 32, 1)
    taught = BEYOND.take(of_banks(base, drawn(np.where(chances == 0, 0.3, chances), 32, 2)))
    assert taught.figures["above"][1] > 0.5 and taught.figures["rates"]["16"]["rate"] > 0.9
    again = BEYOND.take(of_banks(base, drawn(chances, 32, 3)))
    assert again.figures["above"][1] <= 0.02 and abs(again.figures["above"][0]) < 0.05
    sharper = BEYOND.take(of_banks(base, drawn(np.minimum(1, 2 * chances), 32, 4)))
    assert sharper.figures["above"][0] < 0.1, "problems without any chance stay unsolved"


def test_a_small_zero_set_is_said_to_be_small() -> None:
    found = BEYOND.take(of_banks(of_counts([0, 0, 3, 4], 4), of_counts([1, 0, 4, 4], 4)))
    assert "fewer than" in found.beware[-1]


def test_banks_without_a_zero_set_or_a_second_sample_are_refused() -> None:
    with pytest.raises(Lacking, match="harder ones"):
        BEYOND.take(of_banks(of_counts([4, 3], 4), of_counts([4, 4], 4)))
    with pytest.raises(Lacking, match="two are the least"):
        BEYOND.take(of_banks(of_counts([1, 0], 1), of_counts([1, 0], 1)))
