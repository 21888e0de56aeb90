"""Ratios: what stands for w = pi_theta / pi_old. Log-ratios are clamped to [-20, 20] before the exponential. A ratio of
whole rows asks for the `view`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.objective.experts import MixedBehaviour, mixed_behaviour
from assay.part import Part, Registry

if TYPE_CHECKING:
    from torch import Tensor

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


RATIOS: Registry = {
    "token": (TokenRatio, token_ratio),
    "none": (NoRatio, no_ratio),
    "probability": (Probability, probability),
    "mixed-behaviour": (MixedBehaviour, mixed_behaviour),
}
