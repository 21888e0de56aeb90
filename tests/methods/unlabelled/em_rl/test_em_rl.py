"""Entropy as a reward and as a loss: the gradients of both, by enumeration of a policy of one token."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from awkward import batch
from earning import Told, advantages, earned
from tiny import END, episode, loss_and_gradient, policy, recipe_of

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


TWO = [episode([1, END]), episode([1, 1, 1, END], sample=1)]
LN2 = float(np.log(2))


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("em-rl", (-3 * LN2, -4 * LN2)),  # log 1/2 + log 1/4, and 4 log 1/2
        ("em-rl-token", (-0.7 - 0.9, -4 * 0.5)),
        ("em-ft", (-0.7 - 0.9, -4 * 0.5)),
    ],
)
def test_rewards_are_sums_over_the_answer(name: str, sums: tuple[float, float]) -> None:
    """So the short answer earns more, though its tokens are less sure."""
    engine = Told([[-LN2, -2 * LN2], [-LN2] * 4], entropy=[[0.7, 0.9], [0.5] * 4])
    assert earned(name, TWO, engine=engine) == pytest.approx(sums)


def test_each_answer_is_compared_with_the_other_one() -> None:
    """The leave-one-out baseline of two: 4 log 2 - 3 log 2. The descent of em-ft has no advantages."""
    engine = Told([[-LN2, -2 * LN2], [-LN2] * 4], entropy=[[0.7, 0.9], [0.5] * 4])
    assert advantages("em-rl", TWO, engine=engine) == pytest.approx([LN2, -LN2], rel=1e-6)
    assert advantages("em-rl-token", TWO, engine=engine) == pytest.approx([0.4, -0.4], rel=1e-6)
    assert advantages("em-ft", TWO, engine=engine) == [0, 0]
