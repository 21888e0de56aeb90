"""MaxRL: advantages that come to the truncated gradient of log p."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from credited_rows import VERDICTS, credited
from enumerated import LOGITS, TRUE, bare, expected_ascent, success
from hypothesis import given, settings
from tiny import group_of

from assay.errors import ConfigError
from assay.methods.shaping.maxrl.credit import MeanNormalised


@settings(max_examples=40, deadline=None)
@given(VERDICTS)
def test_maximum_likelihood_by_hand(right: list[bool]) -> None:
    """N/K - 1 for each of K right ones, -1 for the others; 0 where none or all are right."""
    found, solved = credited(MeanNormalised(), group_of([float(r) for r in right])), sum(right)
    mixed = 0 < solved < len(right)
    assert found == pytest.approx([(len(right) / solved - 1 if r else -1.0) if mixed else 0.0 for r in right])


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_its_mean_over_all_outcomes_is_the_truncated_gradient_of_log_p(p: float, size: int) -> None:
    """A coin with p = sigmoid(x): E (1/N) sum A_i d log pi_i / dx = p (1 - p) (1 - (1 - p)^(N - 1)) / p."""
    total = 0.0
    for outcome in itertools.product([0.0, 1.0], repeat=size):
        chance = math.prod(p if r else 1 - p for r in outcome)
        advantage = credited(MeanNormalised(), group_of(list(outcome)))
        total += chance * sum(a * (r - p) for a, r in zip(advantage, outcome, strict=True)) / size
    assert total == pytest.approx((1 - p) * (1 - (1 - p) ** (size - 1)), rel=1e-12)


def test_negative_rewards_are_refused() -> None:
    with pytest.raises(ConfigError, match="-1"):
        credited(MeanNormalised(), group_of([1.0, -1.0]))


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_step_follows_its_truncation_of_the_likelihood(size: int) -> None:
    """grad p [1 - (1 - p)^(N - 1)] / p; a mean over equally long answers of two tokens halves it."""
    p = float(success(LOGITS))
    expected = TRUE * (1 - (1 - p) ** (size - 1)) / p / 2
    np.testing.assert_allclose(expected_ascent(bare("maxrl"), size), expected, rtol=1e-5, atol=1e-7)
