"""What the objectives that learn from demonstrations have of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Part

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


@dataclass(frozen=True)
class Plain(Part):
    """No trust region: the ratio itself is the weight."""


def plain(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = w."""
    return ratio


@dataclass(frozen=True)
class MixedBehaviour(Part):
    """For tokens of an unknown author: he is taken for a mixture of the old policy and of whoever wrote just this
    (multiple importance sampling, RL-PLUS 2508.00222). Bounded by 4, and by 1 while the policy has not moved.
    """


def mixed_behaviour(logp: Tensor, old: Tensor) -> Tensor:
    """w = 2 pi / (1.5 pi_old + 0.5): the mean of pi_old and (pi_old + 1) / 2 in the denominator."""
    return 2 * logp.exp() / (1.5 * old.exp() + 0.5)


@dataclass(frozen=True)
class Focal(Part):
    """The ratio itself, more for tokens that the policy finds unlikely (RL-PLUS 2508.00222)."""

    gamma: float = 0.5


def focal(ratio: Tensor, advantage: Tensor, *, view: View, gamma: float) -> Tensor:
    """g = w (1 - pi)^gamma."""
    return ratio * (1 - view.logp.exp()).clamp(min=0).pow(gamma)


@dataclass(frozen=True)
class ByEntropy(Part):
    """Right answers weigh the more, the less sure the policy is of the whole answer; wrong ones 1 (SRFT 2506.19767)."""

    weight: float = 0.1

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})


def by_entropy(ratio: Tensor, advantage: Tensor, *, view: View, weight: float) -> Tensor:
    """g = weight exp(h) where A > 0, else 1, h the mean entropy of the answer's tokens."""
    return (weight * view.spread(view.mean_entropy).exp()).where(advantage > 0, ratio.new_ones(()))
