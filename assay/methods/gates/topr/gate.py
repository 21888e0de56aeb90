"""Ratios clamped to bounds, with other bounds for right answers than for wrong ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor


def tapered(
    ratio: Tensor, advantage: Tensor, *, up_least: float, up_most: float, down_least: float, down_most: float
) -> Tensor:
    """g = clip(w, up_least, up_most) if A > 0, else clip(w, down_least, down_most)."""
    return ratio.clamp(up_least, up_most).where(advantage > 0, ratio.clamp(down_least, down_most))


class Tapered(Gate):
    """Clamps the ratio, with separate bounds for positive and for negative advantages (TOPR 2503.14286).

    With `down_least` above 0 the gradient that pushes an answer down never ends.

        objective=Objective(gate=Tapered(down_most=1.0))
        --mechanism.objective.gate tapered --mechanism.objective.gate.down-most 1.0
    """

    up_least: float = 1.0
    up_most: float = 1.0
    down_least: float = 0.0
    down_most: float = 1.0
    does = tapered
    off_policy = True
