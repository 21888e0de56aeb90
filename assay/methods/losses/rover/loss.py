"""Q-values of the uniformly random policy, regressed on rewards that are centred by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.methods.losses.rover.mean_logp import MEAN_LOGP
from assay.part import WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def rover(view: View, *, weight: Tensor, scale: float) -> Tensor:
    """sum w (Q - sg[A + N])^2, where Q = scale (log pi - log pi_old) of the token and N is the mean of that over the
    vocabulary at the next position that trains, 0 at the last.
    """
    before = view.constants.get(MEAN_LOGP)
    drift = view.logp.new_zeros(view.logp.shape)
    if before is not None:
        assert view.mean_logp is not None
        drift = view.mean_logp - before
    target = view.streams["advantage"] + scale * following(view, drift)
    return (weight * view.mask * (scale * (view.logp - view.old) - target.detach()).square()).sum()


class Rover(WholeLoss):
    """log pi / pi_old is the value of a token under the uniformly random policy, by its Bellman equation (ROVER
    2509.24981).

    The loss needs the mean log-prob over the vocabulary, under the current policy and, from `mean-log-prob` of
    `forwards`, under the old one.

        objective=Objective(whole=Rover(scale=1.0))
        --mechanism.objective.whole rover --mechanism.objective.whole.scale 1.0
    """

    scale: float = 1.0
    does = rover
    needs = ("texts",)

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"mean"})


def following(view: View, x: Tensor) -> Tensor:
    """[M] for each token that trains, x at the next such token of its row; 0 for the last."""
    trained = view.mask.nonzero().squeeze(-1)
    here, after = trained[:-1], trained[1:]
    same = view.row[here] == view.row[after]
    return x.new_zeros(x.shape).index_copy(0, here[same], x[after[same]])
