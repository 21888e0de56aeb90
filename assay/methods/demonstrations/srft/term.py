"""The likelihood of demonstrations, with less weight where the policy's entropy is high."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Term

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def likelihood_by_entropy(view: View, *, weight: float) -> Tensor:
    """- weight exp(-h) log pi, where h is the mean entropy of the answer's tokens, without a gradient."""
    return -weight * view.spread(-view.mean_entropy).exp() * view.logp


class LikelihoodByEntropy(Term):
    """The likelihood of answers, with less weight the higher the policy's mean entropy on the answer (SRFT
    2506.19767).

        objective=Objective(extra=(LikelihoodByEntropy(weight=0.5),))
        --mechanism.objective.extra likelihood-by-entropy --mechanism.objective.extra.0.weight 0.5
    """

    weight: float = 0.5
    does = likelihood_by_entropy

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})
