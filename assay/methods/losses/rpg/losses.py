"""The policy gradient of E[R] - weight D(policy, old) for four divergences D, on samples of the old policy (RPG).

With w = pi / pi_old of a token and UKL(p, q) = sum p log(p / q) + sum q - sum p (2505.17508):

    fkl   KL(old, pi)     ufkl  UKL(old, pi)     rkl   KL(pi, old)     urkl  UKL(pi, old)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.objective.gates import clip
from assay.objective.ratios import token_ratio
from assay.part import Term, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

Divergence = Literal["fkl", "ufkl", "rkl", "urkl"]


def old_kl(view: View, *, weight: float, divergence: str) -> Tensor:
    """The divergence by its name: fkl: - log w; ufkl: w - log w - 1; rkl: w log w; urkl: w log w - w + 1."""
    ratio = token_ratio(view.logp, view.old)
    log = ratio.log()
    each = {
        "fkl": -log,
        "ufkl": ratio - log - 1,
        "rkl": ratio * log,
        "urkl": ratio * log - ratio + 1,
    }
    return weight * each[divergence]


class OldKL(Term):
    """The divergence from the old policy as a term of the loss, differentiated through the ratio.

    objective=Objective(regularise=(OldKL(divergence="fkl"),))
    --mechanism.objective.regularise old-kl --mechanism.objective.regularise.0.divergence fkl
    """

    weight: float = 1e-4  # the weight of the term in the loss
    divergence: Divergence = "ufkl"  # f: forward KL, r: reverse KL; u: for unnormalised policies
    does = old_kl


def regularised_reinforce(
    view: View, *, weight: Tensor, beta: float, divergence: str, low: float, high: float, dual: float | None
) -> Tensor:
    """- sum a sg[w A + beta k] log pi inside the clip; k is 1, 1 - w, - w (log w + 1) or - w log w for fkl, ufkl, rkl,
    urkl.
    """
    ratio, advantage = token_ratio(view.logp.detach(), view.old), view.streams["advantage"]
    gate = clip(ratio, advantage, low=low, high=high, dual=dual)
    pull = beta * slope(ratio.clamp(1 - low, 1 + high), divergence) * (gate > 0)
    return -(weight * view.mask * (gate * advantage + pull) * view.logp).sum()


class RegularisedReinforce(WholeLoss):
    """The policy gradient of E[R] - beta D as a weighted likelihood.

    Tokens outside PPO's clip have no gradient. For the divergence the ratio is clamped to [1 - low, 1 + high].

        objective=Objective(whole=RegularisedReinforce(beta=0.0001))
        --mechanism.objective.whole regularised-reinforce --mechanism.objective.whole.beta 0.0001
    """

    beta: float = 1e-4
    divergence: Divergence = "ufkl"
    low: float = 0.2
    high: float = 0.2
    dual: float | None = None  # upper bound of the ratio where A < 0; None: none
    does = regularised_reinforce


def slope(ratio: Tensor, divergence: str) -> Tensor:
    """- dD / d log pi of a token at this ratio."""
    log = ratio.log()
    return {
        "fkl": ratio.new_ones(ratio.shape),
        "ufkl": 1 - ratio,
        "rkl": -ratio * (log + 1),
        "urkl": -ratio * log,
    }[divergence]
