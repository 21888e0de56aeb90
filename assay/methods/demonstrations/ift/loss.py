"""Likelihood in which each token is weighted by the loss of the tokens after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.part import Proportion, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

TINY = 1e-30


def propagated(view: View, *, weight: Tensor, gamma: float, form: str) -> Tensor:
    """sum_t a_t A_t W_t n_t of each answer, where n = - log pi and W_t = T C_t / sum_s C_s, with C_t = sum_{s >= t}
    gamma^(s - t) n_s; in the form `detached` W is a constant, in the form `sum` C_t = sum_{s <= t} gamma^(t - s).
    """
    loss = -view.logp * view.mask
    if form != "sum" and gamma > 0:
        reached = view.mask * discounted(loss if form == "product" else loss.detach(), view.row, gamma)
    else:
        reached = view.mask * discounted(view.mask.flip(0), view.row.flip(0), gamma).flip(0)
    relation = reached * view.spread(view.length / view.sum(reached).clamp(min=TINY))
    return (weight * view.streams["advantage"] * relation * loss).sum()


class Propagated(WholeLoss):
    """Likelihood, each token weighted by the discounted loss from it on: relation propagation (IFT 2405.11870).

    `product` is what the published code computes, with a gradient through the weights: tokens much surer than their
    answer become less sure. `detached` has the same weights without a gradient. `sum` is the paper's double sum: a
    token's weight grows with its position.

    Weights have mean 1 over an answer. With gamma = 0 all weights are 1, as in the published code, although the limit
    of `product` for small gamma is another: each token's own share of the loss.

        objective=Objective(whole=Propagated(gamma=0.95))
        --mechanism.objective.whole propagated --mechanism.objective.whole.gamma 0.95
    """

    gamma: Proportion = 0.95
    form: Literal["product", "detached", "sum"] = "product"
    does = propagated
    needs = ("texts",)


def discounted(x: Tensor, row: Tensor, gamma: float) -> Tensor:
    """[M] sum_{s >= t} gamma^(s - t) x_s over the row of each token, by sums over windows whose width doubles."""
    total, reach, factor = x, 1, gamma
    while reach < len(x) and (same := row[reach:] == row[:-reach]).any():
        onward = x.new_zeros(len(x)).index_put((same.nonzero().squeeze(-1),), total[reach:][same])
        total, reach, factor = total + factor * onward, 2 * reach, factor * factor
    return total
