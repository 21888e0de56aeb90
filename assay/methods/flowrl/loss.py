"""Trajectory balance: the likelihood of answers in proportion to the exponential of their reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.methods.flowrl.partition import LOG_Z
from assay.objective.ratios import CLAMP
from assay.part import WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def flowrl(view: View, *, weight: Tensor, beta: float, low: float, high: float) -> Tensor:
    """sum_t w sg[clip(W, 1 - low, 1 + high)] d^2 of each answer, W its ratio to the old policy as a whole and
    d = log Z + mean_t log pi - beta A - mean_t log ref.
    """
    ratio = view.sum(view.logp.detach() - view.old).clamp(-CLAMP, CLAMP).exp().clamp(1 - low, 1 + high)
    worth = view.spread(view.constant(LOG_Z)) - beta * view.streams["advantage"]
    residual = view.mean(view.logp - view.streams["ref"] + worth)
    return (weight * view.mask * view.spread(ratio * residual.square())).sum()


@dataclass(frozen=True)
class FlowRL(WholeLoss):
    """Answers as likely as exp(beta A) times the reference makes them: squared residual of a balance (2509.15207).

    The log of the normaliser is that of each row, from `partition` of `forwards`. With the
    aggregation `sequence-mean` it is a mean over answers.
    """

    beta: float = 15.0
    low: float = 0.2
    high: float = 0.2
    needs = (LOG_Z,)
    does = flowrl
    known_as = "flowrl"

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old", "ref"})
