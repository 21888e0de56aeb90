"""Entropy as a reward and as a loss: the gradients of both, by enumeration of a policy of one token."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from awkward import batch
from tiny import loss_and_gradient, policy, recipe_of

from assay.known import RECIPES
from assay.reward import Certainty


@pytest.mark.learning
def test_the_entropy_falls_along_the_gradient_of_em_ft() -> None:
    """The loss of a batch is the sum of its entropies over the rows, and none of it comes from the rewards."""
    engine = policy("fp64")
    loss, gradient = loss_and_gradient(engine, batch("em-ft"), recipe_of("em-ft"))
    other, same = loss_and_gradient(engine, batch("em-ft"), recipe_of("em-ft"), cut=2)
    assert loss == pytest.approx(other) and loss > 0
    assert torch.allclose(gradient, same)


def test_trajectories_and_tokens_agree_in_expectation() -> None:
    """E[log pi(y)] = - H for one token: the two rewards have one mean, and one of them does not vary."""
    p = np.array([0.5, 0.3, 0.2])
    assert (p * np.log(p)).sum() == pytest.approx(-1.02965301)
    forms = [RECIPES[name].mechanism.reward for name in ("em-rl", "em-rl-token")]
    assert forms == [(Certainty(form="trajectory"),), (Certainty(form="token-entropy"),)]
