"""PACS: the verdict as a label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from off_policy import Answer, groups, world
from torch import Tensor
from torch.nn.functional import logsigmoid
from whole_gradients import gradient_of, require_reinforce_with_a_baseline, seeds

from assay.methods.losses.pacs.loss import PACS
from assay.objective import Objective


def pacs_formula(answers: Sequence[Answer], beta: float, *, balanced: bool) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for members in groups(answers):
        moved = [beta * (a.logp - a.old).sum() for a in members]
        right = sum(a.right for a in members)
        for i, a in enumerate(members):
            score = moved[i] - sum(moved[:i] + moved[i + 1 :]) / (len(members) - 1)  # type: ignore[operator]
            weight = 1.0
            if balanced and 0 < right < len(members):
                weight = len(members) / (2 * (right if a.right else len(members) - right))
            total = total - weight * logsigmoid(score if a.right else -score)
    return total / len(answers)


@seeds
@pytest.mark.parametrize("balanced", [True, False])
def test_pacs(seed: int, balanced: bool) -> None:
    goal = Objective(whole=PACS(beta=0.7, balanced=balanced))
    world(seed).require(goal, lambda answers: pacs_formula(answers, 0.7, balanced=balanced))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=2, max_size=8), st.integers(0, 99))
@pytest.mark.slow
def test_pacs_without_class_weights_begins_as_leave_one_out(spec: list[tuple[int, bool]], seed: int) -> None:
    """On policy: - (R_i - mean of the others) / B on each token, the sums of RLOO; with weights it is divided by
    4 p (1 - p).
    """
    made = world(seed, on_policy=True, shapes={"g": [("p" * n, right) for n, right in spec]})
    rewards = [float(right) for _, right in spec]
    count, p = len(spec), sum(rewards) / len(spec)
    for balanced in (False, True):
        share = 4 * p * (1 - p) if balanced and 0 < p < 1 else 1.0
        for one, reward in zip(made.learnt(Objective(whole=PACS(1.0, balanced))), rewards, strict=True):
            advantage = reward - (sum(rewards) - reward) / (count - 1)
            np.testing.assert_allclose(one, -advantage / count / share, rtol=1e-5, atol=1e-7)


def test_on_policy_a_step_of_pacs_is_leave_one_out() -> None:
    goal = Objective(whole=PACS(1.0, balanced=False))
    require_reinforce_with_a_baseline(gradient_of("pacs", goal), "rloo")
