"""The loss of a critic."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def value_loss(value: Tensor, target: Tensor, before: Tensor, *, clip: float) -> Tensor:
    """max((v - R)^2, (V + clamp(v - V, -clip, clip) - R)^2) / 2, V the value before the first update (1707.06347)."""
    near = before + (value - before).clamp(-clip, clip)
    return 0.5 * (value - target).square().maximum((near - target).square())
