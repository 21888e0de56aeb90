"""A loss in place of ratio, gate and advantage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Positive, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def regressed(view: View, *, weight: Tensor, beta: float) -> Tensor:
    """sum_t w (log pi - log pi_old - A / beta)^2 / 2."""
    apart = view.logp - view.old - view.streams["advantage"] / beta
    return (weight * view.mask * apart.square()).sum() / 2


class MyMethod(WholeLoss):
    """Fill in: what is minimised (and the arXiv id). Here the log-ratio of a token is to be its advantage over beta."""

    beta: Positive = 1.0
    does = regressed

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})
