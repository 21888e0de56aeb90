"""Ratios: what stands for w = pi_theta / pi_old. Log-ratios are clamped to [-20, 20] before the exponential. A ratio of
whole rows asks for the `view`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.objective.experts import MixedBehaviour, mixed_behaviour
from assay.part import Part, Registry

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import Scope

CLAMP = 20.0


@dataclass(frozen=True)
class TokenRatio(Part):
    """w = exp(log pi - log pi_old), token by token."""


def token_ratio(logp: Tensor, old: Tensor) -> Tensor:
    return (logp - old).clamp(-CLAMP, CLAMP).exp()


@dataclass(frozen=True)
class NoRatio(Part):
    """w = 1: the score function on policy, likelihood on demonstrations."""


def no_ratio(logp: Tensor, old: Tensor) -> Tensor:
    return logp.new_ones(logp.shape)


@dataclass(frozen=True)
class Probability(Part):
    """w = pi(token): for tokens that nobody sampled, so that there is nothing to divide by."""


def probability(logp: Tensor, old: Tensor) -> Tensor:
    return logp.exp()


@dataclass(frozen=True)
class SequenceRatio(Part):
    """One ratio for a whole answer, on all its tokens: s, the geometric mean of its token ratios (GSPO), or W, their
    product, the ratio of the answer's probabilities.
    """

    of: Literal["mean", "product"] = "mean"


def sequence_ratio(logp: Tensor, old: Tensor, *, view: View, of: str) -> Tensor:
    """s = exp(mean_t (log pi - log pi_old)), or W = exp(sum_t ...), over the tokens that train."""
    far = logp - old
    return view.spread((view.mean(far) if of == "mean" else view.sum(far)).clamp(max=CLAMP).exp())


@dataclass(frozen=True)
class GroupExpectation(Part):
    """The likelihood of an answer over the mean likelihood of its group under the old policy, both per token; in the
    mean answers count by that likelihood itself (GEPO). Not 1 on policy.
    """

    @property
    def scope(self) -> Scope:
        return "step"


def group_expectation(logp: Tensor, old: Tensor, *, view: View) -> Tensor:
    """w_i = P_i / (sum_j Q_j^2 / sum_j Q_j), P_i = exp(mean_t log pi), Q_i = exp(mean_t log pi_old)."""
    known = (view.length > 0).double()
    before, now = view.mean(old).double().exp() * known, view.mean(logp).double()
    expected = view.in_group(before.square()).log() - view.in_group(before).log()
    # a group without a trained token has no expectation, and no token that would see it
    return view.spread((now - expected.nan_to_num(0.0)).clamp(-CLAMP, CLAMP).exp().to(logp.dtype))


RATIOS: Registry = {
    "token": (TokenRatio, token_ratio),
    "sequence": (SequenceRatio, sequence_ratio),
    "group-expectation": (GroupExpectation, group_expectation),
    "none": (NoRatio, no_ratio),
    "probability": (Probability, probability),
    "mixed-behaviour": (MixedBehaviour, mixed_behaviour),
}
