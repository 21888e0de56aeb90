"""`passk-decomp`: where a gain lies, by hand and for gains whose place is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from answered import drawn, of_banks, of_counts
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError
from assay.lab.analyses import measure
from assay.lab.analyses.decompose import flows, parts
from assay.scoring.boundary import Counts

DECOMPOSE = measure("passk-decomp")


def counts(n: int, c: list[int]) -> Counts:
    return Counts(np.full(len(c), n), np.array(c))


def test_parts_by_hand() -> None:
    """n = 4, k = 2: of no right one both parts lie in the second; one right one is missed by half of the draws, and
    then stands at 1/2 among the other two samples.
    """
    found = parts(counts(4, [0, 1, 4]), counts(4, [2, 3, 4]), 2)
    missed = [1.0, math.comb(3, 2) / math.comb(4, 2), 0.0]
    second = [missed[0] * (1 / 2 - 0), missed[1] * (3 / 4 - 1 / 2), 0.0]
    assert found[:, 1] == pytest.approx(second)
    assert found.sum(axis=1) == pytest.approx([1 / 2, 1 / 2, 0.0])


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=10), st.integers(1, 5))
def test_parts_add_up_to_the_change(pairs: list[tuple[int, int]], k: int) -> None:
    before, after = (list(column) for column in zip(*pairs, strict=True))
    found = parts(counts(6, before), counts(6, after), k)
    assert found.sum(axis=1) == pytest.approx((np.array(after) - np.array(before)) / 6)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=30))
def test_flows_hold_every_problem_once(pairs: list[tuple[int, int]]) -> None:
    before, after = (list(column) for column in zip(*pairs, strict=True))
    found = flows(counts(20, before), counts(20, after))
    assert found.sum() == len(pairs)
    assert found[0].sum() == before.count(0) and found[:, 0].sum() == after.count(0)


def test_flows_by_hand() -> None:
    """1 of 20 is 0.05, 5 are 0.25, 15 are 0.75, and bounds belong to the bin below."""
    found = flows(counts(20, [0, 1, 5, 15, 16]), counts(20, [2, 0, 20, 6, 16]))
    where = {(0, 2), (1, 0), (2, 4), (3, 3), (4, 4)}
    assert {(int(i), int(j)) for i, j in zip(*np.nonzero(found), strict=True)} == where and found.sum() == 5


@pytest.mark.slow
def test_a_gain_lies_where_it_was_put() -> None:
    generator = np.random.default_rng(0)
    chances = np.where(np.arange(200) < 100, 0.0, generator.uniform(0.3, 0.6, 200))
    base = drawn(chances, 64, 1)

    def last(child: np.ndarray, seed: int) -> dict[str, list[float]]:
        return DECOMPOSE.take(of_banks(base, drawn(child, 64, seed))).figures["parts"]["32"]

    sharper = last(chances + 0.3 * (chances > 0), 2)
    assert sharper["distilled"][0] == pytest.approx(0.15, abs=0.02) and abs(sharper["gained"][0]) < 0.002
    taught = last(np.where(chances == 0, 0.3, chances), 3)
    assert taught["gained"][0] == pytest.approx(0.15, abs=0.02) and taught["gained"][1] > 0.1
    assert taught["distilled"][1] <= 0 <= taught["distilled"][2]


def test_one_sample_cannot_choose_and_tell() -> None:
    with pytest.raises(DataError, match="two are the least"):
        DECOMPOSE.take(of_banks(of_counts([1, 0], 1), of_counts([1, 1], 1)))
