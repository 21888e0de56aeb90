"""The shaped ratio of answers that were begun with a hint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.methods.guide.quantile import GAMMA
from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def shaped_by(ratio: Tensor, advantage: Tensor, *, view: View) -> Tensor:
    """g = w f'(w) = gamma w / (w + gamma)^2."""
    gamma = view.spread(view.constant(GAMMA))
    return gamma * ratio / (ratio + gamma).square()


@dataclass(frozen=True)
class ShapedBy(Gate):
    """f(w) = w / (w + gamma) with the gamma of each row, from `ratio-quantile` of `forwards` (Guide 2506.13923)."""

    needs = (GAMMA,)
    does = shaped_by
