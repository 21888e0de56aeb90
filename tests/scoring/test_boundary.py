"""Boundary measures against closed forms, and the protocol on pairs that are sharpened, taught, and the same."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats
from scipy.special import beta as beta_function

from assay.errors import DataError
from assay.rng import Key
from assay.scoring.bank import Bank
from assay.scoring.boundary import (
    Beta,
    Counts,
    beta_of,
    counts_of,
    crossing_of,
    crossover,
    crossover_bounds,
    decompose,
    expansion,
    grid,
    misses,
    multiplier,
    support,
)
from assay.scoring.discovery import sharpen_or_discover


def counts(n: int, *c: int) -> Counts:
    return Counts(np.full(len(c), n), np.array(c))


def drawn(p: np.ndarray, n: int, seed: int) -> Counts:
    return Counts(np.full(len(p), n), np.random.default_rng(seed).binomial(n, p))


def test_the_best_of_four_is_worth_four_samples_exactly() -> None:
    """One of ten right: four drawn of ten miss with C(9, 4) / C(10, 4) = 3/5, so the child is right in 4 of 10."""
    assert Fraction(comb(9, 4), comb(10, 4)) == Fraction(3, 5)
    assert multiplier(counts(10, 1), counts(10, 4)) == pytest.approx(4.0)
    base, chances = Beta(0.3, 1.5), np.array([0.01, 0.2, 0.7])
    one = 1 - (1 - chances) ** 4
    child = Counts(np.full(3, 10**6), np.rint(one * 10**6).astype(int))
    parent = Counts(np.full(3, 10**6), np.rint(chances * 10**6).astype(int))
    ks = [1, 2, 5]
    assert misses(child, ks) == pytest.approx(misses(parent, [4 * k for k in ks]), abs=2e-6)
    assert base.misses(4) == pytest.approx(beta_function(0.3, 5.5) / beta_function(0.3, 1.5))


def test_a_multiplier_is_read_between_two_counts_and_has_no_value_beyond_the_bank() -> None:
    base = counts(4, 1)  # pass@k is k / 4
    assert multiplier(base, counts(8, 3)) == pytest.approx(2**0.5)  # 3/8, in the middle of 1/4 and 2/4
    assert multiplier(base, counts(4, 4)) == pytest.approx(4.0)
    assert multiplier(base, counts(8, 1)) == pytest.approx(0.5)
    assert multiplier(counts(4, 0), counts(4, 1)) == math.inf
    assert multiplier(base, counts(4, 2), k=2) == pytest.approx(_at(5 / 6) / 2), "two of four miss with 1/6"


def _at(target: float) -> float:
    """Where k / 4 reaches the target, by log2 k between whole k."""
    low = math.floor(4 * target)
    share = 4 * target - low
    return 2 ** (math.log2(low) + share * (math.log2(low + 1) - math.log2(low)))


def test_a_crossing_is_read_between_two_k() -> None:
    ks = [1, 2, 4, 8]
    assert crossing_of(ks, np.array([0.2, 0.1, -0.1, -0.2])) == pytest.approx(2 * 2**0.5)
    assert crossing_of(ks, np.array([0.2, -0.1, 0.1, -0.3])) == pytest.approx(4 * 2**0.25), "the last one counts"
    assert crossing_of(ks, np.array([0.0, -0.1, 0.0, 0.0])) == 1.0
    assert crossing_of(ks, np.array([0.2, 0.1, 0.1, 0.2])) == math.inf
    # pass@1 3/8 and 4/8, pass@2 by pairs: the child is right always on one problem, the base in half of both
    base, child = counts(4, 2, 2), counts(4, 4, 0)
    assert misses(base, [1, 2]).mean(0) == pytest.approx([1 / 2, 1 / 6]) and crossover(base, child) == 1.0


def test_the_bounds_of_a_crossing_hold_the_true_one() -> None:
    """The base is right with 0.2; the child with 0.6 on half of the problems, and never on the others. Their curves
    cross where 0.8^k = 1/2 + 0.4^k / 2.
    """
    true = next(k for k in np.arange(1, 20, 0.001) if 0.8**k <= 0.5 + 0.5 * 0.4**k)
    lost = np.arange(2000) % 2 == 0
    base, child = drawn(np.full(2000, 0.2), 32, 1), drawn(np.where(lost, 0.0, 0.6), 32, 2)
    low, high = crossover_bounds(base, child, Key(0), draws=500)
    assert low < crossover(base, child) < high and low < true < high and high - low < 1.5
    few, better = drawn(np.full(2000, 0.2), 8, 1), drawn(np.full(2000, 0.4), 8, 3)
    assert crossover_bounds(few, better, Key(0), draws=50) == (math.inf, math.inf)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_support_is_the_mean_over_all_draws_of_k(k: int) -> None:
    """By enumeration of the subsets of two banks of six samples, and of the disjoint subsets of one for the null."""
    right, child_right = (1, 2, 0, 4), (3, 0, 1, 6)
    sets = list(itertools.combinations(range(6), k))

    def solved(c: int, chosen: tuple[int, ...]) -> bool:
        return any(i < c for i in chosen)

    found = support(counts(6, *right), counts(6, *child_right), k)
    pairs = list(itertools.product(sets, sets))

    def share(rule: Callable[[bool, bool], bool]) -> float:
        return sum(
            sum(rule(solved(b, one), solved(c, other)) for one, other in pairs) / len(pairs)
            for b, c in zip(right, child_right)
        )

    assert found.both == pytest.approx(share(lambda x, y: x and y))
    assert found.gained == pytest.approx(share(lambda x, y: y and not x))
    assert found.lost == pytest.approx(share(lambda x, y: x and not y))
    assert found.neither == pytest.approx(share(lambda x, y: not x and not y))
    halves = [(one, other) for one, other in pairs if not set(one) & set(other)]
    null = sum(sum(solved(b, one) and not solved(b, other) for one, other in halves) / len(halves) for b in right)
    assert found.null == pytest.approx(null)
    assert found.both + found.gained + found.lost + found.neither == pytest.approx(4)


def test_ratios_of_support_as_published_and_undefined_ones() -> None:
    """P 2388, E 48, S 175 of the paper: SRR 0.932, NDR 0.020, NSCR -0.049."""
    many = Counts(np.full(2611 + 10, 4), np.array([4] * 2388 + [0] * 48 + [4] * 175 + [0] * 10))
    child = Counts(many.n, np.array([4] * 2388 + [4] * 48 + [0] * 175 + [0] * 10))
    found = support(many, child, 2)
    assert (found.both, found.gained, found.lost, found.neither, found.null) == (2388, 48, 175, 10, 0)
    assert found.retention == pytest.approx(0.932, abs=5e-4) and found.discovery == pytest.approx(0.0197, abs=5e-5)
    assert found.net_change == pytest.approx(-127 / 2611)
    assert (found.expansion, found.shrinkage) == (48, 175)
    nothing = support(counts(4, 0), counts(4, 0), 2)
    assert nothing.retention is nothing.discovery is nothing.net_change is None
    with pytest.raises(DataError, match=r"needs 6 samples .* not 4\. Draw more, or take k <= 2"):
        support(counts(4, 1), counts(4, 1), 3)


def test_the_same_model_gains_and_loses_what_the_null_says() -> None:
    p = np.random.default_rng(0).beta(0.3, 1.5, 20_000)
    found = support(drawn(p, 64, 1), drawn(p, 64, 2), 16)
    assert found.expansion == pytest.approx(0, abs=60) and found.shrinkage == pytest.approx(0, abs=60)
    assert found.gained > 800, "without the null, two banks of one model seem to differ"


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_change_is_split_by_the_mean_over_all_halves(k: int) -> None:
    right, child_right, n = (0, 1, 3, 5), (2, 0, 3, 6), 6
    found = decompose(counts(n, *right), counts(n, *child_right), k)
    gained = distilled = 0.0
    sets = list(itertools.combinations(range(n), k))
    for b, c in zip(right, child_right):
        for chosen in sets:
            seen = sum(i < b for i in chosen)
            change = c / n - (b - seen) / (n - k)
            gained += change / len(sets) / 4 if not seen else 0
            distilled += change / len(sets) / 4 if seen else 0
    assert found.gained == pytest.approx(gained) and found.distilled == pytest.approx(distilled)
    assert found.change == pytest.approx((11 - 9) / n / 4)
    assert found.distilled_share == pytest.approx(distilled / (distilled + gained))
    assert found.gain_share == pytest.approx(gained / (distilled + gained))


def test_compression_of_all_of_pass_at_k_is_one() -> None:
    base = counts(10, 1, 4)
    passed = [1 - Fraction(comb(10 - c, 4), comb(10, 4)) for c in (1, 4)]
    child = Counts(np.full(2, 210), np.array([int(p * 210) for p in passed]))
    assert decompose(base, child, 4).compression == pytest.approx(1.0)
    assert decompose(base, base, 4).distilled_share is None, "no change has no shares"
    with pytest.raises(DataError, match="Take k < 10"):
        decompose(base, child, 10)


def test_the_floor_of_a_zero_set_is_that_of_fresh_samples() -> None:
    """Sum (1-p)^n (1-(1-p)^(cn)) / sum (1-p)^n, which a best-of-four child reaches and does not exceed."""
    p = np.random.default_rng(3).beta(0.2, 2.0, 60_000)
    base, child = drawn(p, 96, 1), drawn(1 - (1 - p) ** 4, 16, 2)
    found = expansion(base, child, n=16, times=4.0)
    zero = (1 - p) ** 16
    assert found.problems == pytest.approx(zero.sum(), rel=0.01)
    assert found.floor == pytest.approx((zero * (1 - (1 - p) ** 64)).sum() / zero.sum(), abs=0.01)
    assert found.above == pytest.approx(0, abs=0.01) and not found.extrapolated
    naive = expansion(base, child, n=16)
    assert naive.above > 0.1, "beside equal samples, compression looks like expansion"
    beyond = expansion(drawn(p, 32, 4), child, n=16, times=4.0)
    assert beyond.extrapolated and beyond.floor == pytest.approx(found.floor, abs=0.02)
    with pytest.raises(DataError, match="no zero set"):
        expansion(counts(4, 4), counts(4, 4), n=2)


def test_the_distribution_of_chances_is_found_again() -> None:
    p = np.random.default_rng(5).beta(0.3, 1.5, 20_000)
    fitted = beta_of(drawn(p, 64, 6))
    assert (fitted.a, fitted.b) == pytest.approx((0.3, 1.5), rel=0.05)
    small = counts(5, 0, 0, 1, 3, 5, 2)
    fitted = beta_of(small)
    best = sum(stats.betabinom.logpmf(small.c, 5, fitted.a, fitted.b))
    for a, b in itertools.product((0.97, 1.0, 1.03), repeat=2):
        assert sum(stats.betabinom.logpmf(small.c, 5, fitted.a * a, fitted.b * b)) <= best + 1e-6
    given = Beta(0.5, 2.0).given(10, 3)
    assert given == Beta(3.5, 9.0)


def test_chances_beyond_the_bank_are_the_mean_of_the_posterior() -> None:
    prior = Beta(0.5, 2.0)
    values = misses(counts(10, 0, 3), [4, 12], prior=prior)
    assert values[:, 0] == pytest.approx([1.0, comb(7, 4) / comb(10, 4)])
    for row, c in enumerate((0, 3)):
        product = math.prod((2 + 10 - c + j) / (2.5 + 10 + j) for j in range(12))
        assert values[row, 1] == pytest.approx(product)
    assert grid(3) == [1, 2, 3] and grid(200)[-1] == 200 and grid(200)[:64] == list(range(1, 65))


def test_banks_are_paired_by_problem() -> None:
    def bank(ids: str, right: list[int]) -> Bank:
        zero = np.zeros(len(ids), np.int64)
        judged = np.where(np.array(right) < 0, 0, 4)
        return Bank(tuple(ids), ("t",) * len(ids), zero, judged, np.maximum(right, 0), zero, zero, zero, max_new=5)

    base, child = counts_of(bank("abcd", [1, 2, 3, -1]), bank("cadx", [4, 0, 1, 1]))
    assert base.c.tolist() == [1, 3] and child.c.tolist() == [0, 4]
    with pytest.raises(DataError, match="on 1 and 2"):
        crossover(counts(4, 1), counts(4, 1, 1))
    for n, c in (([4], [5]), ([0], [0]), ([4, 4], [1])):
        with pytest.raises(DataError):
            Counts(np.array(n), np.array(c))


# The protocol

CHANCES = np.concatenate([np.random.default_rng(7).beta(0.4, 3.0, 500), np.random.default_rng(8).beta(0.05, 3.0, 300)])


@pytest.mark.slow
def test_compression_is_sharpening_new_skills_are_discovery_and_a_second_bank_is_nothing() -> None:
    base, n = drawn(CHANCES, 320, 1), 48
    best = sharpen_or_discover(base, drawn(1 - (1 - CHANCES) ** 4, n, 2), n=n)
    assert best.word == "sharpening" and best.times.low < 4 < best.times.high
    assert best.crossover == math.inf, "at equal samples the best of four is ahead at every k"
    assert best.zero is not None and best.zero.word != "SUPPORTED" and best.blind_below == 3 / 48
    taught = np.where(np.arange(800) >= 500, np.maximum(CHANCES, 0.1), CHANCES)
    found = sharpen_or_discover(base, drawn(taught, n, 3), n=n)
    assert found.word == "discovery" and found.gain_share is not None and found.gain_share > 0.9
    again = sharpen_or_discover(base, drawn(CHANCES, n, 4), n=n, worth=0.03)
    assert again.word == "undetermined" and "not better than its base" in again.reason


def test_new_problems_at_the_price_of_old_ones_are_mixed() -> None:
    base, n = drawn(CHANCES, 320, 1), 48
    swapped = np.where(np.arange(800) >= 600, np.maximum(CHANCES, 0.15), np.where(np.arange(800) < 350, 0.0, CHANCES))
    assert sharpen_or_discover(base, drawn(swapped, n, 3), n=n).word == "mixed"


def test_what_has_no_zero_set_or_too_few_samples_is_not_called_anything() -> None:
    easy = np.full(300, 0.5)
    found = sharpen_or_discover(drawn(easy, 64, 1), drawn(easy, 32, 2), n=32)
    assert found.word == "undetermined" and "zero set has 0 problems" in found.reason and found.zero is None
    with pytest.raises(DataError, match=r"the child needs 32 .* has 16"):
        sharpen_or_discover(drawn(easy, 64, 1), drawn(easy, 16, 2), n=32)
    with pytest.raises(DataError, match=r"the base 2 x 32 and has 40"):
        sharpen_or_discover(drawn(easy, 40, 1), drawn(easy, 32, 2), n=32)
