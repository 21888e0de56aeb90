"""Effects over seeds and problems: closed forms, coverage and power by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.errors import DataError
from assay.scoring.inference import (
    Few,
    effect,
    effect_of_seeds,
    smallest_effect,
    student_p,
    student_quantile,
)
from assay.scoring.intervals import Needed


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
    assert found.chance(0.0) == pytest.approx(stats.ttest_1samp(of_seeds, 0)[1])
    wide = stats.t.interval(0.99, 4, of_seeds.mean(), stats.sem(of_seeds))
    assert (found.within(0.99).low, found.within(0.99).high) == pytest.approx(wide)
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
    found = effect(d)
    assert (found.low, found.high) == pytest.approx((3.5 - half, 3.5 + half))
    sure = np.sqrt(stats.t.ppf(0.995, 1) ** 2 * a + stats.t.ppf(0.995, 1) ** 2 * (b - c))
    assert (found.within(0.99).low, found.within(0.99).high) == pytest.approx((3.5 - sure, 3.5 + sure))


def test_the_sure_interval_adds_the_squares_of_what_seeds_and_problems_have_alone() -> None:
    """Two means of seeds, -1 and 1, and three of problems, -3, 0 and 3, with no rest: A = 2 / 2, B = 9 / 3, C = 0."""
    found = effect(np.array([[-1.0], [1.0]]) + np.array([[-3.0, 0.0, 3.0]]))
    assert (found.of_seeds, found.of_problems) == pytest.approx((1.0, 3.0))
    half = math.sqrt(stats.t.ppf(0.95, 1) ** 2 * 1.0 + stats.t.ppf(0.95, 2) ** 2 * 3.0)
    assert found.within(0.9).high == pytest.approx(half)
    assert effect(np.array([[-1.0], [1.0]]) + np.array([[-3.0, 0.0, 3.0]]), bounds=(-1.0, 1.0)).within(0.9).high == 1.0


@pytest.mark.slow
@given(st.integers(2, 9), st.integers(2, 40), st.floats(0.0, 0.1), st.floats(-0.2, 0.2), st.integers(0, 99))
def test_a_chance_is_that_of_the_interval_that_touches(
    seeds: int, problems: int, spread: float, truth: float, number: int
) -> None:
    rng = np.random.default_rng(number)
    values = 0.03 + rng.normal(0, spread, (seeds, 1)) + rng.normal(0, 0.2, (seeds, problems))
    found = effect(values)
    p = found.chance(truth)
    if 1e-9 < p < 1:
        touching = found.within(1 - p)
        assert min(abs(touching.low - truth), abs(touching.high - truth)) <= 1e-6 * (1 + abs(truth - found.mean))


def test_shares_and_their_differences_stay_within_what_can_be() -> None:
    """Nobody was right: of M problems at most a share 1 - 0.05^(1/M) is another, at 95 %."""
    none = effect(np.zeros((3, 40)), bounds=(0.0, 1.0))
    assert (none.low, none.high) == pytest.approx((0.0, 1 - 0.05 ** (1 / 40)))
    assert none.within(0.99).high == pytest.approx(1 - 0.01 ** (1 / 40))
    same = effect(np.zeros((3, 40)), bounds=(-1.0, 1.0)).within(0.95)
    assert (same.low, same.high) == pytest.approx((-(1 - 0.05 ** (1 / 40)), 1 - 0.05 ** (1 / 40)))
    always = effect(np.full((5, 40), 0.25), bounds=(-1.0, 1.0))
    assert always.chance(0.0) == pytest.approx((1 - 0.25 / 1.25) ** 40, rel=1e-9)
    assert always.within(1 - always.chance(0.0)).low == pytest.approx(0.0)
    rng = np.random.default_rng(0)
    high = effect((rng.random((3, 30)) < 0.97).astype(float), bounds=(0.0, 1.0))
    assert 0.0 <= high.low <= high.high <= 1.0
    whole = effect_of_seeds([0.98, 0.99, 0.9], bounds=(0.0, 1.0))
    assert whole.high == 1.0 and whole.within(0.95).high == 1.0


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


@pytest.mark.turns(2)
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
    sure = np.mean([0.0 in one.within(0.95) for one in found])
    assert sure >= inside - 0.005 and sure >= 0.94, "no study in more than 5 of 100 says what is not so"


def test_an_interval_over_problems_alone_would_not_cover() -> None:
    rng = np.random.default_rng(4)
    inside = []
    for _ in range(300):
        pooled = drawn(rng, 5, 128, 8, 0.3).ravel()
        inside.append(abs(pooled.mean()) <= 1.96 * stats.sem(pooled))
    assert np.mean(inside) < 0.85, "samples that share a seed taken for independent ones"


def test_alike_values_and_refusals() -> None:
    assert effect(np.zeros((3, 4))).chance(0.0) == 1.0
    assert effect(np.full((3, 4), 0.25)).chance(0.0) < 1e-9, "of values without bounds nothing is known of others"
    for shape in [(1, 5), (5, 1), (5,)]:
        with pytest.raises(DataError, match="two of each"):
            effect(np.zeros(shape))
    with pytest.raises(DataError, match="two of them at least"):
        effect_of_seeds([0.1])


def test_where_the_rest_is_larger_than_its_sums_there_is_one_degree_of_freedom() -> None:
    """d = [[1, -1], [-1, 1.001]]: the means hardly differ, and the rest is all there is."""
    found = effect(np.array([[1.0, -1.0], [-1.0, 1.001]]))
    assert found.freedom == 1.0 and math.isfinite(found.high)


def test_of_one_seed_and_of_none_nothing_is_said() -> None:
    one = Few(0.1, 1)
    assert math.isnan(one.within(0.95).low) and one.chance(0.0) == 1.0
    assert one.power(0.1, 0.95) is None and one.needed(0.1, 0.95) is None


@pytest.mark.slow
@pytest.mark.parametrize("family", [1, 20])
def test_the_seeds_that_are_said_to_be_needed_show_the_difference(family: int) -> None:
    """A difference of 0.04 with a spread of 0.05 over seeds, at the level of its family: in eight of ten studies."""
    rng, level = np.random.default_rng(5), 1 - 0.05 / family
    spread = rng.normal(0, 1, 200)
    spread *= 0.05 / spread.std(ddof=1)
    found = effect_of_seeds(spread.tolist()).needed(0.04, level)
    assert found is not None and found.seeds is not None and found.problems is None
    studies = rng.normal(0.04, 0.05, (6000, found.seeds))
    t = studies.mean(1) / (studies.std(1, ddof=1) / np.sqrt(found.seeds))
    shown = float(np.mean(t > stats.t.ppf((1 + level) / 2, found.seeds - 1)))
    assert 0.78 <= shown <= 0.86
    fewer = stats.nct.sf(
        stats.t.ppf((1 + level) / 2, found.seeds - 2), found.seeds - 2, 0.04 / 0.05 * math.sqrt(found.seeds - 1)
    )
    assert fewer < 0.80, "one seed fewer would not do"


@pytest.mark.parametrize(("seeds", "level"), [(3, 0.95), (5, 0.95), (9, 0.99), (9, 1 - 0.05 / 21)])
def test_the_smallest_effect_is_shown_in_four_of_five(seeds: int, level: float) -> None:
    """By the noncentral t."""
    size = smallest_effect(seeds, 0.02, level=level)
    power = stats.nct.sf(stats.t.ppf((1 + level) / 2, seeds - 1), seeds - 1, size / 0.02 * math.sqrt(seeds))
    assert power == pytest.approx(0.8, abs=0.02)
    assert smallest_effect(1, 0.02) == math.inf


def test_where_seeds_cannot_show_it_problems_are_asked_for() -> None:
    """Seeds that agree, on problems of which each moves by 0.3 one way or the other: their number decides."""
    of_problems = np.tile([0.3, -0.3], 20)
    rng = np.random.default_rng(2)
    found = effect(of_problems + rng.normal(0, 0.001, (6, 40)))
    needed = found.needed(0.02, 0.95)
    assert needed is not None and needed.seeds is None and needed.problems is not None
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert needed.problems == pytest.approx((z * 0.3 / 0.02) ** 2 * 40 / 39, rel=0.02)
    both = effect(of_problems + rng.normal(0, 0.05, (6, 1))).needed(0.02, 0.95)
    assert both is not None and both.seeds is not None and both.problems is not None
    assert str(Needed(9, 1200)) == "9 seeds and 1,200 problems" and str(Needed(problems=7)) == "7 problems"
    assert effect(np.zeros((3, 4))).needed(0.02, 0.95) is None


@pytest.mark.slow
def test_power_is_the_share_of_studies_that_leave_0_out() -> None:
    rng = np.random.default_rng(8)
    found = effect(rng.normal(0, 0.02, (6, 1)) + rng.normal(0, 0.1, (1, 200)) + rng.normal(0, 0.1, (6, 200)))
    a, b = found.of_seeds, found.of_problems
    shown, level = [], 0.99
    for _ in range(4000):
        seeds, problems = a * rng.chisquare(5) / 5, b * rng.chisquare(199) / 199
        mean = rng.normal(0.06, math.sqrt(a + b))
        half = math.sqrt(stats.t.ppf(0.995, 5) ** 2 * seeds + stats.t.ppf(0.995, 199) ** 2 * problems)
        shown.append(mean - half > 0)
    assert found.power(0.06, level) == pytest.approx(np.mean(shown), abs=0.03)
