"""The losses of models that are trained beside the policy: of a critic, and of an implicit process reward model."""

from __future__ import annotations

import torch
from torch import Tensor


def value_loss(value: Tensor, target: Tensor, before: Tensor, *, clip: float) -> Tensor:
    """max((v - R)^2, (V + clamp(v - V, -clip, clip) - R)^2) / 2, R the target, V the value before the first update."""
    near = before + (value - before).clamp(-clip, clip)
    return 0.5 * (value - target).square().maximum((near - target).square())


def outcome_loss(logp: Tensor, ref: Tensor, row: Tensor, right: Tensor, *, beta: float) -> Tensor:
    """[B] cross entropy between sigmoid(beta sum_t (log phi - log ref)) and the verdict, 1 if right (2502.01456)."""
    score = beta * logp.new_zeros(len(right)).index_add(0, row, logp - ref)
    return torch.nn.functional.binary_cross_entropy_with_logits(score, right, reduction="none")
