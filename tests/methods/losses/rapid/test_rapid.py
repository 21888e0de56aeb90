"""RAPID: answers of a sampler that is behind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev

import numpy as np
import torch
from off_policy import Answer, groups, world
from torch import Tensor
from whole_gradients import seeds

from assay.methods.losses.rapid.loss import RAPID
from assay.objective import Objective


def rapid_formula(answers: Sequence[Answer]) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for members in groups(answers):
        rewards = [float(a.right) for a in members]
        if len(set(rewards)) == 1:
            continue
        use = [min(math.exp(float((a.logp - a.old).mean().detach())), 2.0) for a in members]
        value = sum(u * r for u, r in zip(use, rewards, strict=True)) / sum(use)
        for a, u, r in zip(members, use, rewards, strict=True):
            total = total - u * (r - value) / (stdev(rewards) + 0.3) * a.logp.mean()
    return total / len(answers)


@seeds
def test_rapid(seed: int) -> None:
    world(seed).require(Objective(whole=RAPID(cap=2.0, epsilon=0.3)), rapid_formula)


def test_rapid_by_hand() -> None:
    """Rewards 1, 0 at ratios 1/2 and 4, held at 2: the value is 0.5 / 2.5, the deviation sqrt(1/2)."""
    shapes = {"g": [("p", True), ("p", False)]}
    made = world(shapes=shapes)
    for row, answer, ratio in zip(made.rows, made.answers, (0.5, 4.0), strict=True):
        row.old[:] = answer.logp.detach().numpy() - math.log(ratio)  # type: ignore[index]
    found = made.learnt(Objective(whole=RAPID(epsilon=0.0)))
    np.testing.assert_allclose(np.concatenate(found), [-0.5 * 0.8 * 2**0.5 / 2, 2 * 0.2 * 2**0.5 / 2], rtol=1e-5)


def test_rapid_of_answers_that_the_policy_has_left_altogether_is_a_number() -> None:
    """Both mean log-ratios are held at -20: each weighs e^-20, their value is 1/2, their deviation sqrt(1/2)."""
    made = world(shapes={"g": [("p", True), ("p", False)]})
    for row, answer in zip(made.rows, made.answers, strict=True):
        row.old[:] = answer.logp.detach().numpy() + 900.0  # type: ignore[index]
    found = np.concatenate(made.learnt(Objective(whole=RAPID(epsilon=0.0)))) / math.exp(-20)
    np.testing.assert_allclose(found, [-(0.5**0.5) / 2, 0.5**0.5 / 2], rtol=1e-5)
