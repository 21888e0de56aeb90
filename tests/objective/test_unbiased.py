"""Estimators against the gradient that they claim, with every outcome enumerated, in groups of two and three."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from enumerated import BEFORE, LOGITS, RIGHT, TRUE, bare, expected_ascent, logp_of, scores

from assay.objective import Objective, Open, SequenceRatio, SequenceSum, TokenRatio
from assay.objective.gates import Plain


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("name", "size", "factor"),
    [
        ("reinforce", 1, 1.0),
        ("rloo", 2, 1.0),
        pytest.param("rloo", 3, 1.0, marks=pytest.mark.slow),
        ("dr-grpo", 2, 1 / 2 / 2),  # (G - 1) / G, and 1 / L of the fixed length
        pytest.param("dr-grpo", 3, 2 / 3 / 2, marks=pytest.mark.slow),
    ],
)
def test_on_policy_the_mean_is_the_gradient_of_success(name: str, size: int, factor: float) -> None:
    np.testing.assert_allclose(expected_ascent(bare(name), size), factor * TRUE, rtol=1e-5, atol=1e-7)


def test_of_two_answers_the_standard_deviation_is_a_factor() -> None:
    """Binary rewards, N = 2, ddof 1: the std is 1 / sqrt 2 where they differ, so the mean is sqrt 2 / 2 times the
    gradient, and half of that by the mean over two tokens.
    """
    found = expected_ascent(bare("grpo"), 2)
    np.testing.assert_allclose(found, TRUE * 2**0.5 / 2 / 2, rtol=1e-4, atol=1e-7)


def test_off_policy_the_true_ratio_is_unbiased_and_that_of_tokens_is_not() -> None:
    """E_old[W R psi] = grad p; neither the ratios of single tokens nor none at all give that."""
    goal: dict[str, Any] = {"aggregate": SequenceSum(), "gate": Plain()}
    whole = bare("reinforce", ratio=SequenceRatio(of="product"), **goal)
    np.testing.assert_allclose(expected_ascent(whole, 1, BEFORE), TRUE, rtol=1e-5, atol=1e-7)
    tokens = bare("reinforce", ratio=TokenRatio(), **goal)
    off = np.linalg.norm(expected_ascent(tokens, 1, BEFORE) - TRUE) / np.linalg.norm(TRUE)
    assert 0.02 < off < 1
    none = bare("reinforce", aggregate=SequenceSum(), gate=Open())
    worse = np.linalg.norm(expected_ascent(none, 1, BEFORE) - TRUE) / np.linalg.norm(TRUE)
    assert worse > 0.02


def test_the_bias_of_token_ratios_is_that_of_the_beginnings() -> None:
    """E_old[sum_t w_t R psi_t]: the first token's term has the second one's ratio missing, and the other way round."""
    now, old = logp_of(LOGITS), logp_of(BEFORE)
    expected = np.zeros(12)
    for answer in RIGHT:
        ratio = (now[answer] - old[answer]).exp().numpy()
        expected += float(old[answer].sum().exp()) * (ratio @ scores()[answer])
    goal = bare("reinforce", ratio=TokenRatio(), aggregate=SequenceSum(), gate=Plain())
    np.testing.assert_allclose(expected_ascent(goal, 1, BEFORE), expected, rtol=1e-5, atol=1e-7)
    assert isinstance(goal.mechanism.objective, Objective)
