"""Ratios: what stands for w = pi_theta / pi_old. Log-ratios are clamped to [-20, 20] before the exponential. A ratio of
whole rows asks for the `view`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.part import Ratio

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

CLAMP = 20.0


def token_ratio(logp: Tensor, old: Tensor) -> Tensor:
    return (logp - old).clamp(-CLAMP, CLAMP).exp()


@dataclass(frozen=True)
class TokenRatio(Ratio):
    """w = exp(log pi - log pi_old), token by token."""

    does = token_ratio
    known_as = "token"


def no_ratio(logp: Tensor, old: Tensor) -> Tensor:
    return logp.new_ones(logp.shape)


@dataclass(frozen=True)
class NoRatio(Ratio):
    """w = 1: the score function on policy, likelihood on demonstrations."""

    does = no_ratio
    known_as = "none"


def probability(logp: Tensor, old: Tensor) -> Tensor:
    return logp.exp()


@dataclass(frozen=True)
class Probability(Ratio):
    """w = pi(token): for tokens that nobody sampled, so that there is nothing to divide by."""

    does = probability


def sequence_ratio(logp: Tensor, old: Tensor, *, view: View, of: str) -> Tensor:
    """s = exp(mean_t (log pi - log pi_old)), or W = exp(sum_t ...), over the tokens that train."""
    far = logp - old
    return view.spread((view.mean(far) if of == "mean" else view.sum(far)).clamp(max=CLAMP).exp())


@dataclass(frozen=True)
class SequenceRatio(Ratio):
    """One ratio for a whole answer, on all its tokens: s, the geometric mean of its token ratios (GSPO), or W, their
    product, the ratio of the answer's probabilities.
    """

    of: Literal["mean", "product"] = "mean"
    does = sequence_ratio
    known_as = "sequence"

    @property
    def aggregations(self) -> tuple[str, ...]:
        return ("sequence-mean", "sequence-sum") if self.of == "product" else ("sequence-mean",)
