"""`support-dynamics`: entropies, solutions and unseen shares by hand, and banks with known answers."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from answered import drawn, of_banks, of_counts, voted
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError
from assay.lab.analyses import measure
from assay.lab.analyses.support import entropy, solutions, unseen

SUPPORT = measure("support-dynamics")


def test_entropy_by_hand() -> None:
    # halves of two kinds: log 2, and the correction (2 - 1) / (2 * 4)
    assert entropy(["7", "7", None, None]) == pytest.approx(math.log(2) + 1 / 8)
    assert entropy(["7", "7"]) == 0.0 and entropy([]) == 0.0


@given(st.lists(st.sampled_from(["1", "2", "3", None]), min_size=1, max_size=30))
def test_entropy_ignores_the_order_and_the_names(answers: list[str | None]) -> None:
    renamed = [f"{answer}!" for answer in reversed(answers)]
    assert entropy(answers) == pytest.approx(entropy(renamed))
    kinds, n = len(Counter(answers)), len(answers)
    assert -1e-12 <= entropy(answers) <= math.log(kinds) + (kinds - 1) / (2 * n) + 1e-12


def test_the_correction_comes_nearer_to_the_truth() -> None:
    """Of 30 draws among eight equally likely answers the plain estimate is too low on average."""
    rows = np.random.default_rng(0).integers(0, 8, (200, 30))
    shares = np.stack([(rows == kind).mean(axis=1) for kind in range(8)])
    plain = -np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1)), 0).sum(axis=0).mean()
    found = np.mean([entropy([str(value) for value in row]) for row in rows])
    assert abs(found - math.log(8)) < 0.02 < math.log(8) - plain


def test_solutions_by_hand() -> None:
    """One right answer, 24: solved by the base in a (even samples) and b (both halves), by the child in b and c."""
    base = voted({"a": ["24", "1", "24", "1"], "b": ["24"] * 4, "c": ["1"] * 4}).counts()
    child = voted({"a": ["1"] * 4, "b": ["24"] * 4, "c": ["1", "24", "1", "1"]}).counts()
    found = solutions(base, child)
    assert (found.both, found.gained, found.lost) == (1, 1, 1)
    # halves of the base: even a b, odd b, which differ by a in one direction
    assert found.null == 1 / 2
    # even base a b against odd child b c: gained c, lost a; odd base b against even child b: nothing
    assert (found.gained_in_halves, found.lost_in_halves, found.net) == (1 / 2, 1 / 2, 0.0)


def test_the_unseen_share_is_that_of_solutions_seen_once() -> None:
    bank = voted({"a": ["24", "24", "1"], "b": ["24", "1", "1"], "c": ["1", "1", None]}).counts()
    assert unseen(bank) == pytest.approx(1 / 3)  # of three right samples, that of b
    assert unseen(voted({"a": ["1", "1"], "b": ["1", "1"]}).counts()) == 0.0


@pytest.mark.slow
def test_what_is_kept_gained_and_lost_is_told_from_luck() -> None:
    """Of 60 problems the child loses the second third and gains the last one; the first is kept."""
    base, child = (np.repeat(chances, 20) for chances in ([0.8, 0.8, 0.0], [0.8, 0.0, 0.8]))
    figures = SUPPORT.take(of_banks(drawn(base, 16, 1), drawn(child, 16, 2))).figures
    last = figures["problems"]["8"]
    assert (last["both"], last["gained"], last["lost"]) == pytest.approx((20, 20, 20), abs=0.2)
    assert last["retention"] == pytest.approx(1 / 2, abs=0.01) and last["discovery"] == pytest.approx(1 / 2, abs=0.01)
    assert last["null"] < 0.5 and last["net_change"] == pytest.approx(0, abs=0.01)
    assert last["score"] == pytest.approx(1 / 2, abs=0.01)


@pytest.mark.slow
def test_what_two_banks_of_one_model_gain_is_luck() -> None:
    chances = np.random.default_rng(0).beta(0.5, 2.0, 100)
    figures = SUPPORT.take(of_banks(drawn(chances, 32, 1), drawn(chances, 32, 2))).figures["problems"]
    for one in figures.values():
        assert abs(one["gained"] - one["null"]) < 6 and abs(one["lost"] - one["null"]) < 6


def test_one_sample_has_no_halves() -> None:
    with pytest.raises(DataError, match="halves of a bank"):
        SUPPORT.take(of_banks(of_counts([1, 0], 1), of_counts([0, 1], 1)))
