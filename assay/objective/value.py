"""The losses of partners: of a critic, and of a process model."""

from __future__ import annotations

import torch
from torch import Tensor


def value_loss(value: Tensor, target: Tensor, before: Tensor, *, clip: float) -> Tensor:
    """max((v - R)^2, (V + clamp(v - V, -clip, clip) - R)^2) / 2, V the value before the first update (1707.06347)."""
    near = before + (value - before).clamp(-clip, clip)
    return 0.5 * (value - target).square().maximum((near - target).square())


def outcome_loss(logp: Tensor, ref: Tensor, row: Tensor, right: Tensor, *, beta: float) -> Tensor:
    """[B] cross entropy of sigmoid(beta sum_t (log phi - log ref)) and whether the answer was right (2502.01456)."""
    score = beta * logp.new_zeros(len(right)).index_add(0, row, logp - ref)
    return torch.nn.functional.binary_cross_entropy_with_logits(score, right, reduction="none")
