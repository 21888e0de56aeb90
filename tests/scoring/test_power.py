"""How many problems and samples settle a difference: by the formula, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.errors import DataError
from assay.scoring.power import Spread, detectable, problems_needed, samples_needed

REACH = 1.959963985 + 0.841621234  # standard errors, for 95 % and four of five


def test_the_typical_case_of_the_literature() -> None:
    """omega^2 = 0.05, sigma^2 = 0.12, 8 samples, a difference of 0.03: 80/0.0009 x REACH^2/1000 = 697.6 problems."""
    spread = Spread(0.05, 0.12, 0.12)
    assert problems_needed(spread, 0.03, samples=8) == math.ceil(REACH**2 * (0.05 + 0.24 / 8) / 0.03**2) == 698
    assert problems_needed(spread, 0.03, samples=1) == math.ceil(REACH**2 * 0.29 / 0.0009)
    assert detectable(spread, problems=698, samples=8) == pytest.approx(0.03, rel=1e-3)


def test_samples_settle_what_problems_leave_open() -> None:
    spread = Spread(0.01, 0.12, 0.12)
    assert REACH * math.sqrt(0.01 / 80) > 0.03, "with any number of samples"
    assert samples_needed(spread, 0.03, problems=80) is None
    samples = samples_needed(spread, 0.03, problems=200)
    assert samples is not None
    assert problems_needed(spread, 0.03, samples=samples) <= 200 < problems_needed(spread, 0.03, samples=samples - 1)


def test_how_answers_spread_is_estimated_without_bias() -> None:
    """Over 300 banks of 100 problems, with differences of 0.2 or -0.2 on each problem: omega^2 is 0.04 x 100/99."""
    generator = np.random.default_rng(1)
    p = np.full(100, 0.4)
    q = p + np.where(np.arange(100) % 2, 0.2, -0.2)
    n = np.full(100, 8)
    found = [Spread.of((n, generator.binomial(8, p)), (n, generator.binomial(8, q))) for _ in range(300)]
    for name, true in (("omega", 0.04 * 100 / 99), ("first", 0.24), ("other", (0.24 + 0.16) / 2)):
        values = np.array([getattr(one, name) for one in found])
        assert abs(values.mean() - true) < 4 * values.std(ddof=1) / math.sqrt(len(values))
    with pytest.raises(DataError, match="two samples"):
        Spread.of((np.array([1, 1]), np.array([1, 0])), (np.array([1, 1]), np.array([1, 0])))


def test_the_power_that_is_promised_is_found() -> None:
    """With as many problems as are needed, a paired test at 5 % shows the difference in about four of five banks."""
    generator, worth, samples = np.random.default_rng(2), 0.05, 4
    problems = problems_needed(Spread(0.01, 0.2, 0.2), worth, samples=samples)
    shown = 0
    for _ in range(800):
        p = generator.uniform(0.2, 0.8, problems)  # mean p(1 - p) is 0.22
        gap = worth + 0.1 * generator.choice([-1.0, 1.0], problems)
        d = (generator.binomial(samples, p + gap) - generator.binomial(samples, p)) / samples
        shown += abs(d.mean()) > 1.96 * d.std(ddof=1) / math.sqrt(problems)
    exact = Spread(0.01, 0.22, 0.22)
    expected = worth / math.sqrt(exact.of_a_problem(samples) / problems) - 1.96  # in standard errors
    assert shown / 800 == pytest.approx(0.5 * (1 + math.erf(expected / math.sqrt(2))), abs=0.05)
    assert 0.7 < shown / 800 < 0.85


@pytest.mark.parametrize("worth", [0.0, -0.1])
def test_a_difference_of_nothing_is_refused(worth: float) -> None:
    with pytest.raises(DataError):
        problems_needed(Spread(0.05, 0.12, 0.12), worth, samples=8)
