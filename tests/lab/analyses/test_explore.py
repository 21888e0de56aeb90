"""Measures of exploration by hand, and judged on banks whose chances, kinds and widths are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from answered import drawn, of_banks, of_counts, voted
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError
from assay.lab.analyses import measure
from assay.lab.analyses.explore import compared, kinds, unsolved
from assay.lab.analyses.spread import edits, rarefied, unlike
from assay.lab.analyses.widths import of_answers
from assay.rng import Key
from assay.scoring.boundary import Counts
from assay.scoring.zeros import never_solved, still_solvable

WORDS = st.lists(st.integers(0, 3), max_size=7)


def counts(n: int, c: list[int]) -> Counts:
    return Counts(np.full(len(c), n), np.array(c))


def test_unsolvable_sets_by_hand() -> None:
    """n = 4: c = 0, 1 and 4 miss two samples with 1, C(3, 2) / C(4, 2) = 1/2 and 0."""
    found = {row["k"]: row for row in unsolved(counts(4, [0, 1, 4]), counts(4, [1, 1, 0]))}
    assert found[2]["base"] == pytest.approx(1.5) and found[2]["child"] == pytest.approx(2.0)
    assert found[2]["base alone"] == pytest.approx(1 * 1 / 2 + 1 / 2 * 1 / 2)
    assert found[2]["child alone"] == pytest.approx(1 / 2 * 1 / 2 + 1)
    # by luck: q_2 - q_4 of the base, 1 - 1, 1/2 - 0 and 0 - 0
    assert found[2]["by luck"] == pytest.approx(1 / 2) and found[4]["by luck"] is None
    assert found[4]["base"] == 1.0 and found[4]["child"] == 1.0


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_rarefied_kinds_are_the_mean_over_all_draws(often: list[int], data: st.DataObject) -> None:
    pool = [kind for kind, count in enumerate(often) for _ in range(count)]
    m = data.draw(st.integers(1, min(len(pool), 5)))
    draws = [len(set(draw)) for draw in itertools.combinations(pool, m)]
    assert rarefied(often, m) == pytest.approx(sum(draws) / len(draws))


def slow(first: list[int], other: list[int]) -> int:
    if not first or not other:
        return len(first) + len(other)
    same = slow(first[:-1], other[:-1]) + (first[-1] != other[-1])
    return min(same, slow(first[:-1], other) + 1, slow(first, other[:-1]) + 1)


def test_edits_by_hand() -> None:
    pairs = [("kitten", "sitting"), ("", "abc"), ("abc", ""), ("abc", "abc"), ("ab", "ba")]
    first, other = ([[ord(letter) for letter in word] for word in words] for words in zip(*pairs, strict=True))
    assert edits(first, other).tolist() == [3, 3, 3, 0, 2]
    assert edits([], []).tolist() == []


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=3))
def test_edits_are_those_of_the_recursion(pairs: list[tuple[list[int], list[int]]]) -> None:
    first, other = [a for a, _ in pairs], [b for _, b in pairs]
    small = [(a[:5], b[:5]) for a, b in pairs]
    assert edits([a for a, _ in small], [b for _, b in small]).tolist() == [slow(a, b) for a, b in small]
    assert (edits(first, other) == edits(other, first)).all()


def test_kinds_of_answers_and_of_right_ones() -> None:
    bank = voted({"a": ["24", "24", "7", None], "b": ["24", "24", "24", "24"]}).counts()
    assert kinds(bank, 4).tolist() == [3.0, 1.0]
    # two of 24 24 7 -: six pairs, of which one is of one kind
    assert kinds(bank, 2) == pytest.approx([11 / 6, 1.0])
    right = kinds(bank, 3, right=True)
    assert math.isnan(right[0]) and right[1] == 1.0
    assert compared(right, right) is None


def test_answers_that_are_alike_have_no_distance() -> None:
    """Every answer of these banks has the same two tokens."""
    assert unlike(of_counts([1, 2], 4), Key(0)).tolist() == [0.0, 0.0]
    assert np.isnan(unlike(of_counts([1, 0], 1), Key(0))).all()


def test_widths_by_hand() -> None:
    one, two = np.array([1, 3, 1, 1]), np.array([2, 1])
    found = of_answers([one, two], [np.zeros(4), np.full(2, math.log(2))], [0, 1])
    figures = found.figures
    assert figures["branching"] == pytest.approx(9 / 6) and figures["branching_median"] == 1.0
    assert figures["branching_share"] == pytest.approx(2 / 6)
    assert figures["entropy"] == pytest.approx(math.log(2) / 3) and figures["effective"] == pytest.approx(8 / 6)
    assert found.shares.tolist() == [1 / 4, 1 / 2]
    # places 0, 1/4, 1/2, 3/4 and 0, 1/2
    assert [found.along[i] for i in (0, 2, 5, 7)] == [1 / 2, 1.0, 0.0, 0.0] and found.along[1] is None


def test_a_share_without_any_chance_is_found_and_none_is_not_invented() -> None:
    generator = np.random.default_rng(3)
    chances = generator.beta(1.0, 3.0, 400)
    planted = np.where(np.arange(400) < 120, 0.0, chances)
    found = never_solved(counts(64, generator.binomial(64, planted).tolist()))
    assert found.low <= 0.3 <= found.high and found.shown and found.high - found.low < 0.15
    none = never_solved(counts(64, generator.binomial(64, chances).tolist()))
    assert not none.shown and none.high < 0.1
    heaped = never_solved(counts(64, generator.binomial(64, generator.beta(0.1, 1.0, 400)).tolist()))
    assert not heaped.shown, "chances that heap up at zero are not zero"
    assert never_solved(counts(4, [0, 0, 0])).low == 0.0


def test_samples_of_unequal_number_have_a_likelihood_too() -> None:
    generator = np.random.default_rng(4)
    n = np.where(np.arange(400) % 2 == 0, 64, 61)
    p = np.where(np.arange(400) < 120, 0.0, generator.beta(1.0, 3.0, 400))
    found = never_solved(Counts(n, generator.binomial(n, p)))
    assert found.low <= 0.3 <= found.high and found.shown


def test_the_bound_of_chao_by_hand() -> None:
    # f0 = 5, f1 = 3, f2 = 2: 3/4 * 9 / 4; without f2: 3/4 * 3 * 2 / 2; never more than f0
    assert still_solvable(counts(4, [0] * 5 + [1] * 3 + [2] * 2 + [4])) == pytest.approx(27 / 16)
    assert still_solvable(counts(4, [0] * 5 + [1] * 3)) == pytest.approx(9 / 4)
    assert still_solvable(counts(4, [0] + [1] * 9)) == 1.0
    assert still_solvable(counts(4, [3, 4])) == 0.0


@pytest.mark.slow
def test_a_narrower_child_is_said_to_be_narrower_and_halves_of_a_bank_are_not() -> None:
    generator = np.random.default_rng(0)

    def spread(values: int) -> dict[str, list[str | None]]:
        return {str(i): [str(v) for v in generator.integers(20, 20 + values, 16)] for i in range(30)}

    wide, narrow = (voted(spread(values)) for values in (12, 5))
    found = measure("explore-metrics").take(of_banks(wide, narrow)).figures["diversity"]["answers among 16"]
    assert found["difference"][2] < -2
    same = [compared(*(kinds(voted(spread(12)).counts(), 16) for _ in range(2))) for _ in range(20)]
    outside = [one for one in same if one is not None and 0 not in one["difference"]]
    assert len(outside) <= 4, "of twenty pairs of equal models about one is called different at 95 %"


@pytest.mark.slow
def test_a_reading_without_models_says_that_branching_is_lacking() -> None:
    chances = np.random.default_rng(0).beta(0.5, 1.5, 40)
    reading = measure("explore-metrics").take(of_banks(drawn(chances, 16, 1), drawn(chances, 16, 2)))
    assert reading.figures["branching"] == {} and len(reading.tables) == 3
    assert "Branching is not measured" in reading.beware[-1]
    luck = reading.figures["unsolved"][3]  # k = 8: two banks of the same chances differ by luck alone
    assert luck["k"] == 8 and abs(luck["base alone"] - luck["by luck"]) < 3 > abs(luck["child alone"] - luck["by luck"])
    with pytest.raises(DataError, match="two samples"):
        measure("explore-metrics").take(of_banks(of_counts([1, 0], 1), of_counts([1, 0], 1)))
