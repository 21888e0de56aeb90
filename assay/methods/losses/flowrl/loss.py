"""Trajectory balance: the likelihood of an answer is to be proportional to the exponential of its reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.methods.losses.flowrl.partition import LOG_Z
from assay.objective.ratios import CLAMP
from assay.part import Positive, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def flowrl(view: View, *, weight: Tensor, beta: float, low: float, high: float) -> Tensor:
    """sum_t w sg[clip(W, 1 - low, 1 + high)] d^2 of each answer, where W is the ratio of the whole answer to the old
    policy and d = log Z + mean_t log pi - beta A - mean_t log ref.
    """
    ratio = view.sum(view.logp.detach() - view.old).clamp(-CLAMP, CLAMP).exp().clamp(1 - low, 1 + high)
    worth = view.spread(view.constant(LOG_Z)) - beta * view.streams["advantage"]
    residual = view.mean(view.logp - view.streams["ref"] + worth)
    return (weight * view.mask * view.spread(ratio * residual.square())).sum()


class FlowRL(WholeLoss):
    """Makes answers as likely as exp(beta A) ref / Z, by the squared residual of trajectory balance (FlowRL
    2509.15207).

    The part `partition` of `forwards` provides log Z. With the aggregation `sequence-mean` the loss is a mean over
    answers.

        objective=Objective(whole=FlowRL(beta=15.0))
        --mechanism.objective.whole flowrl --mechanism.objective.whole.beta 15.0
    """

    beta: Positive = 15.0
    low: float = 0.2
    high: float = 0.2
    reads = (LOG_Z,)
    does = flowrl
    known_as = "flowrl"

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old", "ref"})
