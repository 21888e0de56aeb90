"""Evaluation as inference, against enumeration and simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from assay.errors import DataError
from assay.rng import Key
from assay.scoring.bayes import LEAST, MOST, UNIFORM, better, fit_beta, pass_posterior, posterior


def test_the_posterior_of_right_and_wrong_is_that_of_beta_distributions() -> None:
    """Five of eight and none of eight: Beta(6, 4) and Beta(1, 9), whose means are 0.6 and 0.1."""
    found = posterior([[3, 5], [8, 0]])
    assert found.mean == pytest.approx((0.6 + 0.1) / 2)
    variance = (6 * 4 / (10**2 * 11) + 1 * 9 / (10**2 * 11)) / 4
    assert found.sd == pytest.approx(math.sqrt(variance))
    assert (found.low, found.high) == pytest.approx(
        (found.mean - 1.959964 * found.sd, found.mean + 1.959964 * found.sd)
    )


def test_the_posterior_of_graded_answers_is_that_of_a_dirichlet_distribution() -> None:
    """Counts 2, 1, 0 with weights 0, 0.5, 1 and one earlier sample of the last kind: Dirichlet(3, 2, 2)."""
    found = posterior([[2, 1, 0]], (0.0, 0.5, 1.0), before=np.array([[0, 0, 1]]))
    shares, weights = np.array([3, 2, 2]) / 7, np.array([0, 0.5, 1])
    assert found.mean == pytest.approx(float(shares @ weights))
    covariance = (np.diag(shares) - np.outer(shares, shares)) / 8
    assert found.sd == pytest.approx(math.sqrt(float(weights @ covariance @ weights)))


def test_a_posterior_stays_within_the_weights() -> None:
    assert posterior([[0, 2]]).high == 1.0 and posterior([[2, 0]]).low == 0.0
    with pytest.raises(DataError, match="2 categories"):
        posterior([[1, 2, 3]])


@pytest.mark.parametrize(("a", "b"), [(0.3, 1.5), (2.0, 5.0)])
def test_a_beta_distribution_is_found_again(a: float, b: float) -> None:
    """With 3,000 problems of 64 samples its parameters are known to some percent; scipy agrees that it is the best."""
    generator = np.random.default_rng(3)
    n = np.full(3000, 64)
    c = generator.binomial(64, generator.beta(a, b, 3000))
    found = fit_beta(n, c)
    assert found == pytest.approx((a, b), rel=0.1)

    def likelihood(a: float, b: float) -> float:
        return float((special.betaln(a + c, b + n - c) - special.betaln(a, b)).sum())

    best = likelihood(*found)
    for factor in (0.99, 1.01):
        assert likelihood(found[0] * factor, found[1]) < best > likelihood(found[0], found[1] * factor)


def test_counts_that_do_not_spread_have_a_distribution_within_bounds() -> None:
    for n, c in (([8, 8], [0, 0]), ([8, 8], [8, 8]), ([8] * 40, [4] * 40)):
        a, b = fit_beta(n, c)
        assert LEAST <= a <= MOST and LEAST <= b <= MOST
    a, b = fit_beta([8] * 40, [4] * 40)
    assert a == pytest.approx(b) and a > 100, "as narrow as may be, around one half"
    with pytest.raises(DataError):
        fit_beta([1], [2])


@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 30), st.integers(1, 5), st.integers(1, 5))
def test_the_posterior_of_pass_at_k_is_one_less_the_moment_of_failure(
    right: int, wrong: int, k: int, a: int, b: int
) -> None:
    """E (1 - p)^k under Beta(a + c, b + n - c), in exact fractions."""
    missed = Fraction(1)
    for j in range(k):
        missed *= Fraction(b + wrong + j, a + b + right + wrong + j)
    (found,) = pass_posterior(np.array([right + wrong]), np.array([right]), k=k, prior=(a, b))
    assert found == pytest.approx(float(1 - missed), abs=1e-12)


def test_the_posterior_of_pass_at_1_is_the_mean_of_the_posterior() -> None:
    n, c = np.array([8, 8, 8]), np.array([0, 3, 8])
    assert pass_posterior(n, c, k=1, prior=UNIFORM).mean() == pytest.approx(posterior(np.stack([n - c, c], 1)).mean)


def test_how_likely_one_model_is_better_is_the_integral() -> None:
    """One problem, 7 of 10 against 4 of 10: P(q > p) for Beta(8, 4) and Beta(5, 7), integrated on a grid."""
    first, other = (np.array([10]), np.array([4])), (np.array([10]), np.array([7]))
    x = np.linspace(0, 1, 20001)
    exact = np.trapezoid(stats.beta.pdf(x, 8, 4) * stats.beta.cdf(x, 5, 7), x)
    found = better(first, other, Key("better"), priors=(UNIFORM, UNIFORM), draws=40000)
    assert found.chance == pytest.approx(float(exact), abs=4 * 0.5 / math.sqrt(40000))
    assert found.mean == pytest.approx(8 / 12 - 5 / 12, abs=0.005) and found.low < found.mean < found.high
    same = better(first, first, Key("same"), draws=40000)
    assert same.chance == pytest.approx(0.5, abs=0.01)


def test_intervals_of_beliefs_cover_what_they_are_drawn_from() -> None:
    """Chances drawn from the prior itself: an interval at 95 % holds the mean chance in 93 to 97 % of 1,000 banks."""
    generator, held = np.random.default_rng(5), 0
    for _ in range(1000):
        p = generator.beta(1, 1, 60)
        c = generator.binomial(16, p)
        found = posterior(np.stack([16 - c, c], 1))
        held += found.low <= p.mean() <= found.high
    assert 930 <= held <= 970
