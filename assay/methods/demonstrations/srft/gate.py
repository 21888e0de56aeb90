"""The weight of right answers, by the policy's entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def by_entropy(ratio: Tensor, advantage: Tensor, *, view: View, weight: float) -> Tensor:
    """g = weight exp(h) if A > 0, else 1, where h is the mean entropy of the answer's tokens."""
    return (weight * view.spread(view.mean_entropy).exp()).where(advantage > 0, ratio.new_ones(()))


class ByEntropy(Gate):
    """Right answers weigh more, the higher the policy's mean entropy on the answer; wrong ones weigh 1 (SRFT
    2506.19767).

        objective=Objective(gate=ByEntropy(weight=0.1))
        --mechanism.objective.gate by-entropy --mechanism.objective.gate.weight 0.1
    """

    weight: float = 0.1
    does = by_entropy

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})
