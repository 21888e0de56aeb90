"""Bootstrap intervals over problems: what they cover, their edges, and that they are a function of the key."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from assay.errors import DataError
from assay.rng import Key
from assay.scoring.intervals import Interval, interval, intervals, paired
from assay.scoring.passk import pass_at_k


def draws(seed: int, M: int) -> np.ndarray:
    return np.random.default_rng(seed).beta(0.5, 1.5, size=M)


def test_same_key_same_interval_other_key_another():
    values = draws(0, 60)
    assert interval(values, Key(1)) == interval(values, Key(1))
    assert interval(values, Key(1)) != interval(values, Key(2))


@pytest.mark.slow
def test_many_problems_agree_with_the_normal_interval():
    values = draws(1, 1000)
    found = interval(values, Key(0))
    half = 1.959964 * values.std(ddof=1) / math.sqrt(len(values))
    assert found.mean == values.mean()
    assert found.low == pytest.approx(values.mean() - half, abs=0.08 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.08 * half)


def test_few_problems_agree_with_an_independent_bca():
    values = draws(2, 40)
    found = interval(values, Key(0), draws=40_000)
    other = stats.bootstrap((values,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(0))
    width = other.confidence_interval.high - other.confidence_interval.low
    assert found.low == pytest.approx(other.confidence_interval.low, abs=0.02 * width)
    assert found.high == pytest.approx(other.confidence_interval.high, abs=0.02 * width)


def test_bca_leans_with_the_skew():
    values = np.array([0.0] * 45 + [1.0] * 5)
    found = interval(values, Key(0))
    assert found.high - found.mean > 1.1 * (found.mean - found.low) > 0


def test_columns_share_their_resamples():
    values = draws(3, 250)
    one, other, shifted = intervals(np.stack([values, values, values + 1], axis=1), Key(0))
    assert one == other
    assert shifted.low == pytest.approx(one.low + 1, abs=1e-12)


def test_pairing_removes_what_the_problems_share():
    ability = draws(4, 120)
    noise = np.random.default_rng(5).normal(0, 0.01, size=120)
    found = paired(ability, ability + 0.05 + noise, Key(0))
    assert 0.0 not in found
    assert found.high - found.low < 0.01
    assert 0.0 in paired(ability, ability + noise - noise.mean(), Key(0))


@pytest.mark.parametrize(("value", "M"), [(1.0, 10), (0.0, 10), (0.25, 300)])
def test_equal_values_keep_the_doubt_of_never_seen_ones(value, M):
    found = interval(np.full(M, value), Key(0))
    unseen = 1 - 0.05 ** (1 / M)  # a share above this shows itself among M with probability 0.95
    assert found.low == pytest.approx(value * (1 - unseen))
    assert found.high == pytest.approx(value + unseen * (1 - value))


def test_one_problem_says_nothing_of_others_and_none_is_refused():
    found = interval(np.array([0.5]), Key(0))
    assert found.mean == 0.5
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    with pytest.raises(DataError, match="empty"):
        interval(np.array([]), Key(0))
    with pytest.raises(DataError, match="same problems"):
        paired(np.zeros(3), np.zeros(4), Key(0))


def test_membership():
    assert 0.3 in Interval(0.3, 0.2, 0.4)
    assert 0.5 not in Interval(0.3, 0.2, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k", "M"), [(32, 1, 100), (64, 32, 100), (32, 8, 250)])
def test_intervals_of_pass_at_k_cover_the_population(n, k, M):
    """p ~ Beta(0.3, 1.5): E (1-p)^k = B(0.3, 1.5 + k) / B(0.3, 1.5). 95 % promised, 400 banks: 4 standard errors."""
    log_beta = lambda a, b: math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)  # noqa: E731
    truth = 1 - math.exp(log_beta(0.3, 1.5 + k) - log_beta(0.3, 1.5))
    rng = np.random.default_rng(6)
    replications = 400
    covered = 0
    errors = []
    for replication in range(replications):
        p = rng.beta(0.3, 1.5, size=M)
        values = pass_at_k(np.full(M, n), rng.binomial(n, p), k=k)
        errors.append(values.mean() - truth)
        covered += truth in interval(values, Key(replication), draws=1000)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(replications)
    assert abs(covered / replications - 0.95) < 4 * math.sqrt(0.95 * 0.05 / replications)
