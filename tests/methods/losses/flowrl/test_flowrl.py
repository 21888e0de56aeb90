"""FlowRL: rewards as a distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from off_policy import Answer, world
from tiny import episode, models_for, policy, recipe_of
from torch import Tensor
from whole_gradients import seeds

from assay.memory import Memory
from assay.methods.losses.flowrl.loss import FlowRL
from assay.methods.losses.flowrl.partition import LOG_Z, partition
from assay.objective import Objective, SequenceMean
from assay.types import Row


@seeds
def test_flowrl(seed: int) -> None:
    def formula(answers: Sequence[Answer]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for a in answers:
            if a.length:
                ratio = min(max(math.exp(float((a.logp - a.old).sum().detach())), 0.7), 1.4)
                residual = a.partition + a.logp.mean() - 15 * a.advantage - a.ref.mean()
                total = total + ratio * residual**2
        return total / len(answers)

    world(seed).require(Objective(whole=FlowRL(beta=15.0, low=0.3, high=0.4), aggregate=SequenceMean()), formula)


@pytest.mark.slow
def test_the_normaliser_goes_to_the_mean_gap_of_its_question() -> None:
    """Groups whose log ref - log pi is 0.5 and -1 on average: log Z learns these, from zero."""
    recipe = recipe_of("flowrl", learning_rate=0.05, num_minibatches=1, warmup_steps=0, num_steps=1000)
    models = models_for(recipe, policy("fp32"))
    gaps = {"a": [0.2, 0.8], "d": [-1.5, -0.5]}
    rows = [
        Row(episode([1, 2], group=name, sample=i, prompt=name)).mark(
            old=np.full(2, -1.0, np.float32), ref=np.full(2, -1.0 + gap, np.float32)
        )
        for name, members in gaps.items()
        for i, gap in enumerate(members)
    ]
    settings = {"models": models, "scale": recipe.scale, "micro_tokens": 1000, "model": "partition", "rate": 1.0}
    first, _ = partition(rows, memory=Memory(0), **settings)
    assert all(row.constants[LOG_Z] == 0 for row in first)
    found, stats = first, {}
    for _ in range(60):
        found, stats = partition(rows, memory=Memory(0), **settings)
    for row, expected in zip(found, [0.5, 0.5, -1.0, -1.0], strict=True):
        np.testing.assert_allclose(row.constants[LOG_Z], expected, atol=0.02)
    assert stats["partition/loss"] == pytest.approx((2 * 0.09 + 2 * 0.25) / 4 / 2, abs=0.01)
