"""Effects over seeds and problems: closed forms, coverage by simulation, and Holm's correction by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.errors import DataError
from assay.scoring.inference import effect, holm, seeds_needed, student_p, student_quantile


@pytest.mark.parametrize("freedom", [1.0, 2.5, 5.0, 8.0, 63.0, 400.0])
def test_students_distribution(freedom: float) -> None:
    for t in (0.0, 0.3, 1.0, 2.7, 12.0):
        assert student_p(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-9)
        assert student_p(-t, freedom) == student_p(t, freedom)
    for share in (0.6, 0.95, 0.975, 0.9995):
        assert student_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-9)


def test_if_problems_do_not_matter_it_is_the_t_interval_of_the_seeds() -> None:
    of_seeds = np.array([0.10, 0.04, 0.07, 0.01, 0.08])
    found = effect(np.repeat(of_seeds[:, None], 50, axis=1))
    low, high = stats.t.interval(0.95, 4, of_seeds.mean(), stats.sem(of_seeds))
    assert (found.mean, found.low, found.high) == pytest.approx((of_seeds.mean(), low, high))
    assert found.p == pytest.approx(stats.ttest_1samp(of_seeds, 0)[1])
    assert (found.seeds, found.problems) == (5, 50)


def test_if_seeds_do_not_matter_it_is_the_t_interval_of_the_problems() -> None:
    of_problems = np.random.default_rng(1).normal(0.05, 0.2, 40)
    found = effect(np.repeat(of_problems[None, :], 3, axis=0))
    assert (found.low, found.high) == pytest.approx(
        stats.t.interval(0.95, 39, of_problems.mean(), stats.sem(of_problems))
    )


def test_the_variance_of_crossed_seeds_and_problems() -> None:
    """With sums of squares by hand: d = [[1, 2], [3, 8]], means of seeds 1.5 and 5.5, of problems 2 and 5, mean 3.5."""
    d = np.array([[1.0, 2.0], [3.0, 8.0]])
    a, b, c = 8.0 / 2, 4.5 / 2, 4 * 1.0**2 / 1 / 4  # the rest is +-1
    freedom = (a + b - c) ** 2 / (a**2 + b**2 + c**2)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(a + b - c)
    assert (effect(d).low, effect(d).high) == pytest.approx((3.5 - half, 3.5 + half))


def drawn(rng: np.random.Generator, seeds: int, problems: int, samples: int, by_seed: float) -> np.ndarray:
    """Differences of two methods that are equal on average: shares of right answers, whose chances differ by problem,
    by seed, and by seed and problem.
    """
    ease = rng.normal(-1.0, 1.5, problems)
    method = rng.normal(0.0, 0.6, (2, 1, problems))  # each method is better at other problems
    seed = rng.normal(0.0, by_seed, (2, seeds, 1))
    both = rng.normal(0.0, 0.4, (2, seeds, problems))
    right = rng.binomial(samples, 1 / (1 + np.exp(-(ease + method + seed + both)))) / samples
    return right[0] - right[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "problems", "by_seed"), [(5, 64, 0.15), (9, 64, 0.15), (9, 256, 0.3), (5, 128, 0.02)]
)
def test_intervals_cover_at_the_number_of_seeds_used(seeds: int, problems: int, by_seed: float) -> None:
    """Two equal methods: the interval holds 0 in 95 of 100 studies, so that a win is claimed in five."""
    rng = np.random.default_rng(3)
    found = [effect(drawn(rng, seeds, problems, 8, by_seed)) for _ in range(1500)]
    inside = np.mean([one.low <= 0 <= one.high for one in found])
    assert 0.93 <= inside <= 0.97
    assert np.mean([one.p < 0.05 for one in found]) == pytest.approx(1 - inside)


def test_two_one_sided_tests_say_when_methods_are_equal() -> None:
    of_seeds = np.array([0.010, -0.004, 0.006, 0.001, -0.002])
    found = effect(np.repeat(of_seeds[:, None], 30, axis=1))
    for margin in (0.001, 0.005, 0.01, 0.02):
        below = stats.t.sf((of_seeds.mean() + margin) / stats.sem(of_seeds), 4)
        above = stats.t.cdf((of_seeds.mean() - margin) / stats.sem(of_seeds), 4)
        assert found.p_within(margin) == pytest.approx(max(below, above))
    assert effect(np.zeros((3, 4))).p_within(0.02) == 0.0 and effect(np.full((3, 4), 0.1)).p_within(0.02) == 1.0


@pytest.mark.slow
def test_methods_that_differ_by_the_margin_are_seldom_called_equal() -> None:
    rng = np.random.default_rng(6)
    called = []
    for _ in range(1500):
        values = 0.05 + rng.normal(0, 0.02, (6, 1)) + rng.normal(0, 0.1, (1, 80)) + rng.normal(0, 0.2, (6, 80))
        called.append(effect(values).p_within(0.05) < 0.05)
    assert np.mean(called) <= 0.065, "five in a hundred, with four standard errors of 0.4"


def test_an_interval_over_problems_alone_would_not_cover() -> None:
    rng = np.random.default_rng(4)
    inside = []
    for _ in range(300):
        pooled = drawn(rng, 5, 128, 8, 0.3).ravel()
        inside.append(abs(pooled.mean()) <= 1.96 * stats.sem(pooled))
    assert np.mean(inside) < 0.85, "samples that share a seed taken for independent ones"


def test_alike_values_and_refusals() -> None:
    assert effect(np.zeros((3, 4))).p == 1.0
    assert effect(np.full((3, 4), 0.25)).p == 0.0
    for shape in [(1, 5), (5, 1), (5,)]:
        with pytest.raises(DataError, match="two of each"):
            effect(np.zeros(shape))


def by_closure(chances: tuple[float, ...]) -> list[float]:
    """Holm's correction by enumeration of all intersections, each tested by Bonferroni."""
    places = range(len(chances))
    sets = [s for size in range(1, len(chances) + 1) for s in itertools.combinations(places, size)]
    return [max(min(1.0, len(s) * min(chances[j] for j in s)) for s in sets if i in s) for i in places]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(chances: list[float]) -> None:
    assert holm(chances) == pytest.approx(by_closure(tuple(chances)))


@pytest.mark.slow
def test_the_seeds_that_are_said_to_be_needed_show_the_difference() -> None:
    """A difference of 0.04 with a spread of 0.05 over seeds: in about eight of ten studies of that size."""
    rng = np.random.default_rng(5)
    spread = rng.normal(0, 1, 200)
    spread *= 0.05 / spread.std(ddof=1)
    count = seeds_needed(spread.tolist(), 0.04)
    assert count == 15, "(1.95996 + 0.84162)^2 0.05^2 / 0.04^2 + 2 = 14.26, rounded up"
    studies = rng.normal(0.04, 0.05, (3000, count))
    t = studies.mean(1) / (studies.std(1, ddof=1) / np.sqrt(count))
    shown = np.abs(t) > stats.t.ppf(0.975, count - 1)
    assert 0.76 <= np.mean(shown) <= 0.86
