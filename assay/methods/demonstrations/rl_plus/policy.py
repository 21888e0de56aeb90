"""The ratio and the gate of tokens that the policy did not write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Gate, Ratio

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def mixed_behaviour(logp: Tensor, old: Tensor) -> Tensor:
    """w = 2 pi / (1.5 pi_old + 0.5): the denominator is the mean of pi_old and (pi_old + 1) / 2."""
    return 2 * logp.exp() / (1.5 * old.exp() + 0.5)


class MixedBehaviour(Ratio):
    """The importance ratio of tokens of an unknown author (multiple importance sampling, RL-PLUS 2508.00222).

    The author is modelled as a mixture of the old policy and of one that writes exactly these tokens. The ratio is at
    most 4, and at most 1 while the policy has not moved.

        Case(over=Written("injected"), ratio=MixedBehaviour(), gate=Focal(gamma=0.5))
        --mechanism.objective.cases.0.ratio mixed-behaviour
    """

    does = mixed_behaviour


def focal(ratio: Tensor, advantage: Tensor, *, view: View, gamma: float) -> Tensor:
    """g = w (1 - pi)^gamma."""
    return ratio * (1 - view.logp.exp()).clamp(min=0).pow(gamma)


class Focal(Gate):
    """The ratio itself times (1 - pi)^gamma, which is larger for tokens that the policy finds unlikely (RL-PLUS
    2508.00222).

        Case(over=Written("injected"), ratio=MixedBehaviour(), gate=Focal(gamma=0.5))
        --mechanism.objective.cases.0.gate focal --mechanism.objective.cases.0.gate.gamma 0.5
    """

    gamma: float = 0.5
    does = focal
