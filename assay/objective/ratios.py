"""The importance ratio w = pi_theta / pi_old and the ratios that papers put in its place. Log-ratios are clamped to
[-20, 20] before the exponential. A ratio of whole answers asks for the `view`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.part import Ratio

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

CLAMP = 20.0


def token_ratio(logp: Tensor, old: Tensor) -> Tensor:
    """w = exp(log pi - log pi_old)."""
    return (logp - old).clamp(-CLAMP, CLAMP).exp()


class TokenRatio(Ratio):
    """The importance ratio of each token, w = exp(log pi - log pi_old), as in PPO.

    objective=Objective(ratio=TokenRatio())
    --mechanism.objective.ratio token
    """

    does = token_ratio
    known_as = "token"


def no_ratio(logp: Tensor, old: Tensor) -> Tensor:
    """w = 1."""
    return logp.new_ones(logp.shape)


class NoRatio(Ratio):
    """w = 1: no importance ratio. On policy this is REINFORCE, on demonstrations the likelihood.

    objective=Objective(ratio=NoRatio(), gate=Open())
    --mechanism.objective.ratio none --mechanism.objective.gate open
    """

    does = no_ratio
    known_as = "none"


def probability(logp: Tensor, old: Tensor) -> Tensor:
    """w = pi."""
    return logp.exp()


class Probability(Ratio):
    """w = pi(token), for off-policy tokens: no policy sampled them, so that there is no pi_old to divide by.

    objective=Objective(ratio=Probability(), gate=Shaped(gamma=0.1))
    --mechanism.objective.ratio probability --mechanism.objective.gate shaped
    """

    does = probability


def sequence_ratio(logp: Tensor, old: Tensor, *, view: View, of: str) -> Tensor:
    """w = exp(mean_t (log pi - log pi_old)), or exp(sum_t (log pi - log pi_old)), t over the tokens that train."""
    far = logp - old
    return view.spread((view.mean(far) if of == "mean" else view.sum(far)).clamp(max=CLAMP).exp())


class SequenceRatio(Ratio):
    """One ratio for all tokens of an answer: the geometric mean of its token ratios (GSPO), or their product.

    The product is the ratio of the probabilities of the answer.

        objective=Objective(ratio=SequenceRatio(of="mean"), aggregate=SequenceMean())
        --mechanism.objective.ratio sequence --mechanism.objective.aggregate sequence-mean
    """

    of: Literal["mean", "product"] = "mean"  # the geometric mean, or the product
    does = sequence_ratio
    known_as = "sequence"

    @property
    def aggregations(self) -> tuple[str, ...]:
        return ("sequence-mean", "sequence-sum") if self.of == "product" else ("sequence-mean",)
