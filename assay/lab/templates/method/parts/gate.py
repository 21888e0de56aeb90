"""A gate: a factor on the advantage of each token, which falls as the token's probability moves away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor


def fading(ratio: Tensor, advantage: Tensor, *, width: float) -> Tensor:
    """g = w exp(-(log w)^2 / (2 width^2))."""
    return ratio * (-((ratio.log() / width) ** 2) / 2).exp()


class MyMethod(Gate):
    """Fill in: what the gate does (and the arXiv id). Here the gradient fades as the probability moves, up or down."""

    width: float = 0.3  # where the log-ratio is this far from 0, the factor on the ratio is 0.61
    does = fading
