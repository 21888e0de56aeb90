"""ROVER: values of the uniform policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from engine_cases import naive_log_probs
from off_policy import Answer, world
from tiny import group_of, models_of, policy
from torch import Tensor
from whole_gradients import gradient_of, require_reinforce_with_a_baseline, seeds

from assay.methods.losses.rover.loss import Rover
from assay.methods.losses.rover.mean_logp import MEAN_LOGP, keep_mean_log_prob
from assay.objective import Objective, TokenMean


def test_on_policy_a_step_of_rover_is_reinforce_with_a_baseline() -> None:
    require_reinforce_with_a_baseline(gradient_of("rover"), "dr-grpo", TokenMean(), 2.0)


@seeds
def test_rover(seed: int) -> None:
    def formula(answers: Sequence[Answer]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for a in answers:
            for t in range(a.length):
                after = float(a.drift[t + 1]) if t + 1 < a.length else 0.0
                total = total + (0.8 * (a.logp[t] - a.old[t]) - a.advantage - 0.8 * after) ** 2
        return total / sum(a.length for a in answers)

    world(seed).require(Objective(whole=Rover(scale=0.8), aggregate=TokenMean()), formula)


@pytest.mark.parametrize("precision", ["fp64", "fp32", "native"])
def test_the_mean_over_the_vocabulary_is_kept_before_the_update(precision: str) -> None:
    """From the dense distributions; a row that needed no `old` needs none of it."""
    engine = policy(precision)
    rows = [row.mark(old=np.zeros(len(row.episode), np.float32)) for row in group_of([1.0, 0.0], lengths=[3, 1])]
    moved = dataclasses.replace(rows[0].episode, context=np.array([4, 4, 4], np.int32))
    rows[0] = rows[0].mark(episode=moved)  # it was sampled under another context than it is trained under
    rows += group_of([1.0], name="fresh")
    found, _ = keep_mean_log_prob(rows, models=models_of(engine), micro_tokens=5)
    for row in found[:2]:
        request = row.episode.request
        ids = row.episode.stream("ids").astype(np.int32)
        every = naive_log_probs(engine.model, request.context, ids, request.temperature)
        np.testing.assert_allclose(row.constants[MEAN_LOGP], every.mean(-1).detach().numpy(), rtol=1e-5)
    assert MEAN_LOGP not in found[2].constants


def test_random_policy_values_point_to_every_way_that_is_right() -> None:
    """A tree of depth 3 and 4 branches: following any action of the greatest value of the uniform policy is always
    right, and sampling from softmax(Q / tau) with a small tau finds all right leaves.
    """
    random = np.random.default_rng(0)
    leaves = (random.random((4, 4, 4)) < 0.1).astype(float)
    assert 2 <= leaves.sum() <= 12
    values = [leaves.mean((1, 2)), leaves.mean(2), leaves]
    reached = np.ones(())
    for value in values:
        share = np.exp(value / 1e-3 - (value / 1e-3).max(-1, keepdims=True))
        reached = reached[..., None] * share / share.sum(-1, keepdims=True)
    assert (reached * leaves).sum() == pytest.approx(1.0)
    best = values[0] == values[0].max()
    assert ((reached > 1e-6).any((1, 2)) == best).all()
