"""pass@k, all@k, avg@k, maj@k and their variances, against enumeration of all draws and against closed forms."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError
from assay.rng import Key
from assay.scoring.passk import (
    all_at_k,
    area,
    avg_at_k,
    credit_at_k,
    maj_at_k,
    pass_at_k,
    pass_errors,
    pass_variance,
    unsolved_bound,
)

banks = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


def subsets(n: int, c: int, k: int) -> list[int]:
    """Right answers in each way to choose k of n, the first c being right."""
    return [sum(i < c for i in chosen) for chosen in itertools.combinations(range(n), k)]


@settings(deadline=None)
@given(banks)
def test_pass_all_and_avg_are_means_over_all_subsets(bank):
    n, c, k = bank
    hits = subsets(n, c, k)
    share = lambda good: sum(map(good, hits)) / len(hits)  # noqa: E731
    assert pass_at_k([n], [c], k=k)[0] == pytest.approx(share(lambda j: j >= 1), abs=1e-14)
    assert all_at_k([n], [c], k=k)[0] == pytest.approx(share(lambda j: j == k), abs=1e-14)
    assert avg_at_k([n], [c], k=k)[0] == pytest.approx(share(lambda j: j / k), abs=1e-14)


@settings(deadline=None)
@given(banks, st.lists(st.floats(-3, 3), min_size=10, max_size=10))
def test_credit_vector_is_the_mean_credit_over_all_subsets(bank, weights):
    n, c, k = bank
    credit = weights[: k + 1]
    hits = subsets(n, c, k)
    assert credit_at_k([n], [c], credit=credit)[0] == pytest.approx(sum(credit[j] for j in hits) / len(hits), abs=1e-11)


def test_credit_vector_covers_its_relatives():
    n, c = np.array([8, 11, 64]), np.array([3, 0, 64])
    k = 5
    relatives = {pass_at_k: [0] + [1] * k, all_at_k: [0] * k + [1], avg_at_k: [j / k for j in range(k + 1)]}
    for estimator, credit in relatives.items():
        np.testing.assert_allclose(credit_at_k(n, c, credit=credit), estimator(n, c, k=k), atol=1e-12)


@settings(deadline=None)
@given(st.floats(0.02, 0.98), st.integers(1, 8), st.data())
def test_pass_is_unbiased_and_the_plug_in_is_not(p, n, data):
    k = data.draw(st.integers(1, n))
    weight = np.array([math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)])
    estimates = pass_at_k([n] * (n + 1), range(n + 1), k=k)
    assert weight @ estimates == pytest.approx(1 - (1 - p) ** k, abs=1e-12)
    plug_in = 1 - (1 - np.arange(n + 1) / n) ** k
    if k > 1:
        assert weight @ plug_in < 1 - (1 - p) ** k


@settings(deadline=None)
@given(st.floats(0.02, 0.98), st.integers(1, 4), st.integers(0, 3))
def test_pass_variance_is_unbiased(p, k, spare):
    n = 2 * k + spare
    weight = np.array([math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)])
    estimates = pass_at_k([n] * (n + 1), range(n + 1), k=k)
    true = weight @ estimates**2 - (weight @ estimates) ** 2
    assert weight @ pass_variance([n] * (n + 1), range(n + 1), k=k) == pytest.approx(true, abs=1e-12)


def test_pass_is_stable_for_large_banks_and_exact_at_the_ends():
    n, k = 4096, 1024
    values = pass_at_k([n] * 5, [0, 1, 2, n - k + 1, n], k=k)
    exact = [1 - Fraction(math.comb(n - c, k), math.comb(n, k)) for c in (0, 1, 2)]
    np.testing.assert_allclose(values[:3], [float(value) for value in exact], rtol=1e-12)
    assert values[0] == 0.0
    assert values[3] == values[4] == 1.0


def test_problems_may_have_different_counts():
    np.testing.assert_allclose(pass_at_k([4, 2], [1, 1], k=2), [1 - 3 / 6, 1.0])


@pytest.mark.parametrize("estimator", [pass_at_k, all_at_k, avg_at_k])
def test_a_k_beyond_the_samples_is_refused(estimator):
    with pytest.raises(DataError, match="k <= 3"):
        estimator([8, 3], [1, 3], k=4)


def test_impossible_counts_are_refused():
    for n, c, k in [([2], [3], 1), ([2], [-1], 1), ([2, 2], [1], 1), ([2], [1], 0)]:
        with pytest.raises(DataError):
            pass_at_k(n, c, k=k)
    with pytest.raises(DataError):
        pass_variance([7], [1], k=4)


def vote(answers: list[str | None], right: dict[str, bool]) -> Fraction:
    counts = Counter(answer for answer in answers if answer is not None)
    if not counts:
        return Fraction(0)
    top = max(counts.values())
    tied = [answer for answer, count in counts.items() if count == top]
    return Fraction(sum(right[answer] for answer in tied), len(tied))


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=7), st.data())
def test_majority_is_the_mean_vote_over_all_subsets(answers, data):
    right = {"a": True, "b": False, "c": data.draw(st.booleans())}
    k = data.draw(st.integers(1, len(answers)))
    ballots = list(itertools.combinations(answers, k))
    expected = sum(vote(list(ballot), right) for ballot in ballots) / len(ballots)
    marks = [answer is not None and right[answer] for answer in answers]
    assert maj_at_k(answers, marks, k=k, key=Key(0)) == pytest.approx(float(expected), abs=1e-12)


def test_majority_counts_samples_and_not_distinct_answers():
    assert maj_at_k(["x", "a", "a"], [False, True, True], k=3, key=Key(0)) == 1.0
    assert maj_at_k(["a", "x", "x"], [True, False, False], k=3, key=Key(0)) == 0.0


def test_no_answer_never_wins():
    assert maj_at_k([None, None, None, "a"], [False, False, False, True], k=4, key=Key(0)) == 1.0
    assert maj_at_k([None, None], [False, False], k=2, key=Key(0)) == 0.0


def test_large_votes_are_drawn_and_repeatable():
    answers = ["a"] * 24 + [f"w{i}" for i in range(8)]
    marks = [answer == "a" for answer in answers]
    first = maj_at_k(answers, marks, k=9, key=Key(3))
    assert first == maj_at_k(answers, marks, k=9, key=Key(3))
    assert first > 0.99
    tossed = ["a"] * 16 + ["b"] * 16  # k odd: no ties, so by symmetry the vote is a fair coin
    value = maj_at_k(tossed, [answer == "a" for answer in tossed], k=9, key=Key(4), draws=4000)
    assert abs(value - 0.5) < 4 * 0.5 / math.sqrt(4000)


def test_two_standard_errors_of_a_mean() -> None:
    """Of 8 samples 2 and 4 are right. pass@2 is 1 - 15/28 and 1 - 6/28; the chance that four draws all fail is 15/70
    and 1/70, so that the variances of a problem are (15/28)^2 - 15/70 and (6/28)^2 - 1/70.
    """
    fixed, population = pass_errors([8, 8], [2, 4], k=2)
    variance = (15 / 28) ** 2 - 15 / 70 + (6 / 28) ** 2 - 1 / 70
    assert fixed == pytest.approx(math.sqrt(variance) / 2)
    assert population == pytest.approx(abs(15 - 6) / 28 / 2)  # the deviation of two values is their gap by sqrt 2
    assert math.isnan(pass_errors([3, 3], [1, 2], k=2)[0]) and math.isnan(pass_errors([8], [2], k=2)[1])


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(("samples", "k"), [(32, 1), (64, 8), (64, 32)])
def test_both_errors_cover_and_the_estimate_is_unbiased(samples: int, k: int) -> None:
    """p ~ Beta(0.3, 1.5), 200 problems: intervals at 95 % hold what they speak of in 93 to 97 % of 1,500 banks, the
    mean of estimates is right within three of its errors, and the plug-in 1 - (1 - c/n)^k lies too low at n = k.
    """
    generator, replications = np.random.default_rng(7), 1500
    fixed_p = generator.beta(0.3, 1.5, 200)
    truth = 1 - math.exp(math.lgamma(1.5 + k) + math.lgamma(1.8) - math.lgamma(1.5) - math.lgamma(1.8 + k))
    estimates, plug_in, held_fixed, held = [], [], 0, 0
    n = np.full(200, samples)
    for _ in range(replications):
        c = generator.binomial(samples, fixed_p)
        error, _other = pass_errors(n, c, k=k)
        held_fixed += abs(pass_at_k(n, c, k=k).mean() - (1 - (1 - fixed_p) ** k).mean()) <= 1.96 * error
        c = generator.binomial(samples, generator.beta(0.3, 1.5, 200))
        found = pass_at_k(n, c, k=k).mean()
        estimates.append(found)
        plug_in.append((1 - (1 - c / n) ** k).mean())
        held += abs(found - truth) <= 1.96 * pass_errors(n, c, k=k)[1]
    error = np.std(estimates, ddof=1) / math.sqrt(replications)
    assert abs(np.mean(estimates) - truth) < 3 * error
    assert 0.93 <= held / replications <= 0.97 and 0.93 <= held_fixed / replications <= 0.97
    assert k == 1 or np.mean(plug_in) < truth - 3 * error


def test_what_no_success_excludes() -> None:
    assert unsolved_bound(1024) == pytest.approx(3 / 1024, rel=0.01) and (1 - unsolved_bound(7)) ** 7 == pytest.approx(
        0.05
    )
    with pytest.raises(DataError):
        unsolved_bound(0)


def test_the_area_below_a_curve_is_its_mean_height() -> None:
    """Over log2 k: from 1 to 2 the curve stands at 0.25 on average, from 2 to 8, twice as long, at 0.6."""
    assert area({1: 0.2, 2: 0.3, 8: 0.9}) == pytest.approx((0.25 + 2 * 0.6) / 3)
    with pytest.raises(DataError):
        area({1: 0.5})
