"""Verdicts: the rule at its edges, the exact test by enumeration, and what a report must not print."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.errors import DataError, UsageError
from assay.rng import Key
from assay.scoring.intervals import Interval
from assay.scoring.verdict import (
    LEAST_SEEDS,
    Needed,
    of_checkpoints,
    of_methods,
    problems_needed,
    reported,
    sign_flip,
    verdict,
)

WORTH = 0.02


@pytest.mark.parametrize(
    ("mean", "low", "high", "word"),
    [
        (0.05, 0.01, 0.09, "SUPPORTED"),
        (0.02, 1e-9, 0.04, "SUPPORTED"),  # just as large as is worth knowing
        (0.019, 0.001, 0.037, "INCONCLUSIVE"),  # above 0, but smaller, and larger ones are not excluded
        (0.05, 0.0, 0.10, "INCONCLUSIVE"),  # touches 0
        (0.0, -0.019, 0.019, "REFUTED"),
        (0.01, 0.005, 0.015, "REFUTED"),  # an effect, but none worth knowing
        (0.0, -0.02, 0.02, "INCONCLUSIVE"),  # touches what is worth knowing
        (-0.01, -0.019, -0.001, "REVERSED"),
        (-0.01, -0.02, 0.0, "REFUTED"),  # touches 0
        (0.0, -0.1, 0.1, "INCONCLUSIVE"),
        (0.1, math.nan, math.nan, "INCONCLUSIVE"),  # a single problem
    ],
)
def test_the_rule_at_its_edges(mean: float, low: float, high: float, word: str) -> None:
    assert verdict(Interval(mean, low, high), WORTH).word == word


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.floats(1e-3, 0.5))
def test_no_interval_is_called_two_things(mean: float, below: float, above: float, worth: float) -> None:
    found = Interval(mean, mean - below, mean + above)
    supported, refuted = found.low > 0 and mean >= worth, found.high < worth
    assert not (supported and refuted)
    word = verdict(found, worth).word
    assert (word == "SUPPORTED") == supported and (word in ("REFUTED", "REVERSED")) == refuted


@pytest.mark.parametrize(
    ("narrow", "wide", "word"),
    [
        ((-0.015, 0.019), (-0.02, 0.022), "SUPPORTED"),
        ((-0.02, 0.01), (-0.03, 0.015), "INCONCLUSIVE"),  # touches the margin
        ((0.03, 0.05), (0.02, 0.06), "REFUTED"),
        ((-0.06, -0.03), (-0.07, -0.02), "REFUTED"),
        ((0.021, 0.05), (0.019, 0.06), "INCONCLUSIVE"),
    ],
)
def test_no_difference_is_two_one_sided_tests(
    narrow: tuple[float, float], wide: tuple[float, float], word: str
) -> None:
    mean = sum(narrow) / 2
    found = verdict(Interval(mean, *wide), WORTH, "equality", narrow=Interval(mean, *narrow))
    assert found.word == word


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(UsageError, match="positive number, not 0"):
        verdict(Interval(0, -1, 1), 0.0)
    with pytest.raises(UsageError, match="interval at 90 %"):
        verdict(Interval(0, -1, 1), WORTH, "equality")
    with pytest.raises(DataError, match="two problems at least"):
        of_checkpoints(np.array([0.1]), WORTH, Key(0))


@given(st.lists(st.integers(-4, 4), min_size=6, max_size=9))
def test_sign_flips_are_counted_by_enumeration(of_seeds: list[int]) -> None:
    seen = abs(sum(of_seeds))
    ways = [
        abs(sum(s * x for s, x in zip(signs, of_seeds))) for signs in itertools.product((1, -1), repeat=len(of_seeds))
    ]
    assert sign_flip(of_seeds) == sum(way >= seen for way in ways) / len(ways)


def test_the_least_chance_of_six_seeds_and_a_refusal_of_five() -> None:
    assert sign_flip([0.1] * 6) == 2 / 64
    assert sign_flip([0.3, 0.1, 0.2, 0.1, 0.2, -0.01]) == 4 / 64  # itself, all positive, and both mirrored
    assert sign_flip([0.1, -0.1, 0.1, -0.1, 0.1, -0.1]) == 1.0
    with pytest.raises(DataError, match=f"5 paired seeds .* train with {LEAST_SEEDS} seeds at least"):
        sign_flip([0.1] * 5)
    with pytest.raises(DataError, match="20 seeds at most, not of 21"):
        sign_flip([0.1] * 21)
    with pytest.raises(DataError, match="4 paired seeds"):
        of_methods(np.full((4, 10), 0.1), WORTH)


def test_methods_are_judged_over_seeds_and_problems() -> None:
    """Differences without any spread over problems: Student's interval of the seeds."""
    of_seeds = np.array([0.05, 0.07, 0.06, 0.05, 0.04, 0.06])
    judged = of_methods(np.repeat(of_seeds[:, None], 40, axis=1), WORTH)
    low, high = stats.t.interval(0.95, 5, of_seeds.mean(), stats.sem(of_seeds))
    assert judged.word == "SUPPORTED" and judged.p == 2 / 64 and judged.needed is None
    assert (judged.found.low, judged.found.high) == pytest.approx((low, high))
    doubtful = of_methods(np.repeat((of_seeds * [1, -1, 1, -1, 1, 1])[:, None], 40, axis=1), WORTH)
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    spread = np.var(of_seeds * [1, -1, 1, -1, 1, 1], ddof=1)
    assert doubtful.word == "INCONCLUSIVE"
    assert doubtful.needed == Needed(math.ceil(z**2 * spread / WORTH**2 + 2), 2)
    assert "seeds and 2 problems would resolve it" in str(doubtful)
    alike = of_methods(np.zeros((6, 40)), WORTH, "equality")
    assert alike.word == "SUPPORTED"


def test_the_problems_of_the_catalogue_s_example() -> None:
    """Differences of variance 0.05 + 2 x 0.12 / 8 = 0.08 show 0.03 with 700 problems, to two digits."""
    spread = math.sqrt(0.08)
    values = np.array([spread, -spread]) / math.sqrt(2)  # whose variance with one degree of freedom is 0.08
    assert problems_needed(values, 0.03) == math.ceil((1.959964 + 0.841621) ** 2 * 0.08 / 0.0009) == 698


def test_checkpoints_are_judged_over_problems() -> None:
    rng = np.random.default_rng(0)
    better = of_checkpoints(rng.normal(0.1, 0.2, 400).clip(-1, 1), WORTH, Key(0))
    assert better.word == "SUPPORTED" and better.p is None
    open_ = of_checkpoints(rng.normal(0.01, 0.4, 100).clip(-1, 1), WORTH, Key(0))
    assert open_.word == "INCONCLUSIVE" and open_.needed is not None and open_.needed.seeds is None
    equal = of_checkpoints(rng.normal(0.0, 0.05, 400), WORTH, Key(0), "equality")
    assert equal.word == "SUPPORTED"


def test_a_report_downgrades_what_has_no_null_or_uneven_truncation() -> None:
    judged, null = verdict(Interval(0.05, 0.03, 0.07), WORTH), Interval(0.0, -0.01, 0.01)
    assert reported(judged, null=null, truncated=(0.01, 0.03)) is judged
    missing = reported(judged, null=None, truncated=(0.0, 0.0))
    assert missing.word == "INCONCLUSIVE" and "no null was measured" in missing.reason and "SUPPORTED" in missing.reason
    uneven = reported(judged, null=null, truncated=(0.01, 0.031))
    assert uneven.word == "INCONCLUSIVE" and "1.0% and 3.1% of the answers were truncated" in uneven.reason
