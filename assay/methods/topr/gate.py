"""Ratios that are held within bounds, those of right answers apart from those of wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor


def tapered(
    ratio: Tensor, advantage: Tensor, *, up_least: float, up_most: float, down_least: float, down_most: float
) -> Tensor:
    """g = clip(w, up_least, up_most) where A > 0, else clip(w, down_least, down_most)."""
    return ratio.clamp(up_least, up_most).where(advantage > 0, ratio.clamp(down_least, down_most))


@dataclass(frozen=True)
class Tapered(Gate):
    """The ratio held within bounds of their own for pushes up and for pushes down (TOPR 2503.14286).

    Anything above 0 for `down_least` lets a push down go on for ever.

        objective=Objective(gate=Tapered(up_least=1.0))
        --mechanism.objective.gate tapered --mechanism.objective.gate.up-least 1.0
    """

    up_least: float = 1.0
    up_most: float = 1.0
    down_least: float = 0.0
    down_most: float = 1.0
    does = tapered
