"""A shaped ratio for answers that were sampled with a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.methods.exploration.guide.quantile import GAMMA
from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def shaped_by(ratio: Tensor, advantage: Tensor, *, view: View) -> Tensor:
    """g = w f'(w) = gamma w / (w + gamma)^2."""
    gamma = view.spread(view.constant(GAMMA))
    return gamma * ratio / (ratio + gamma).square()


class ShapedBy(Gate):
    """The gate of the shaped ratio f(w) = w / (w + gamma), with the gamma of `ratio-quantile` in `forwards` (Guide
    2506.13923).

        Case(over=Tagged("hint"), ratio=TokenRatio(), gate=ShapedBy())
        --mechanism.objective.cases.0.gate shaped-by
    """

    reads = (GAMMA,)
    does = shaped_by
