"""PPO's clip, except that clipped tokens keep a gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor


def preserving(ratio: Tensor, advantage: Tensor, *, low: float, high: float) -> Tensor:
    """g = w, but 1 + high if (A > 0 and w > 1 + high), and 1 - low if (A < 0 and w < 1 - low)."""
    held = ratio.clamp(max=1 + high).where(advantage > 0, ratio)
    return held.clamp(min=1 - low).where(advantage < 0, held)


class Preserving(Gate):
    """PPO's clip; a clipped token keeps the gradient that it would have at the bound (GPPO 2508.07629).

    objective=Objective(gate=Preserving(high=0.28))
    --mechanism.objective.gate preserving --mechanism.objective.gate.high 0.28
    """

    low: float = 0.2
    high: float = 0.28
    does = preserving
    off_policy = True
