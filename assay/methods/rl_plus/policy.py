"""Ratio and push of tokens that somebody else wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Gate, Ratio

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def mixed_behaviour(logp: Tensor, old: Tensor) -> Tensor:
    """w = 2 pi / (1.5 pi_old + 0.5): the mean of pi_old and (pi_old + 1) / 2 in the denominator."""
    return 2 * logp.exp() / (1.5 * old.exp() + 0.5)


@dataclass(frozen=True)
class MixedBehaviour(Ratio):
    """For tokens of an unknown author: he is taken for a mixture of the old policy and of whoever wrote just this
    (multiple importance sampling, RL-PLUS 2508.00222). Bounded by 4, and by 1 while the policy has not moved.

        ratio=MixedBehaviour()
        --mechanism.objective.cases.0.ratio mixed-behaviour
    """

    does = mixed_behaviour


def focal(ratio: Tensor, advantage: Tensor, *, view: View, gamma: float) -> Tensor:
    """g = w (1 - pi)^gamma."""
    return ratio * (1 - view.logp.exp()).clamp(min=0).pow(gamma)


@dataclass(frozen=True)
class Focal(Gate):
    """The ratio itself, more for tokens that the policy finds unlikely (RL-PLUS 2508.00222).

        gate=Focal(gamma=0.5)
        --mechanism.objective.cases.0.gate focal --mechanism.objective.cases.0.gate.gamma 0.5
    """

    gamma: float = 0.5
    does = focal
