"""Losses that regress what the policy says of an answer to what it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.objective.ratios import CLAMP
from assay.part import Part

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


@dataclass(frozen=True)
class Rover(Part):
    """log pi / pi_old as the value of a token under the uniformly random policy, by its Bellman equation (2509.24981).

    Wants what all tokens of the vocabulary are given on average, now and (`mean-log-prob` of `assess`) before.
    """

    scale: float = 1.0

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"mean"})


def rover(view: View, *, weight: Tensor, scale: float) -> Tensor:
    """sum w (Q - sg[A + N])^2, Q = scale (log pi - log pi_old) of the token and N the mean of that over the vocabulary
    at the next position that trains, 0 at the last.
    """
    before = view.streams.get("weights/mean_logp")
    drift = view.logp.new_zeros(view.logp.shape)
    if before is not None:
        assert view.mean_logp is not None
        drift = view.mean_logp - before
    target = view.streams["advantage"] + scale * following(view, drift)
    return (weight * view.mask * (scale * (view.logp - view.old) - target.detach()).square()).sum()


def following(view: View, x: Tensor) -> Tensor:
    """[M] for each token that trains, x at the next one of its row; 0 for the last."""
    trained = view.mask.nonzero().squeeze(-1)
    here, after = trained[:-1], trained[1:]
    same = view.row[here] == view.row[after]
    return x.new_zeros(x.shape).index_copy(0, here[same], x[after[same]])


@dataclass(frozen=True)
class FlowRL(Part):
    """Answers as likely as exp(beta A) times the reference makes them: squared residual of a balance (2509.15207).

    The log of the normaliser stands in the weight `partition` of each row, from `partition` of `assess`. With the
    aggregation `sequence-mean` it is a mean over answers.
    """

    beta: float = 15.0
    low: float = 0.2
    high: float = 0.2

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old", "ref"})


def flowrl(view: View, *, weight: Tensor, beta: float, low: float, high: float) -> Tensor:
    """sum_t w sg[clip(W, 1 - low, 1 + high)] d^2 of each answer, W its ratio to the old policy as a whole and
    d = log Z + mean_t log pi - beta A - mean_t log ref.
    """
    ratio = view.sum(view.logp.detach() - view.old).clamp(-CLAMP, CLAMP).exp().clamp(1 - low, 1 + high)
    worth = view.streams["weights/partition"] - beta * view.streams["advantage"]
    residual = view.mean(view.logp - view.streams["ref"] + worth)
    return (weight * view.mask * view.spread(ratio * residual.square())).sum()
