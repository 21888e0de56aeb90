"""Likelihood of demonstrations, less of it where the policy is in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Term

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def likelihood_by_entropy(view: View, *, weight: float) -> Tensor:
    """- weight exp(-h) log pi, h the mean entropy of the answer's tokens, without a gradient."""
    return -weight * view.spread(-view.mean_entropy).exp() * view.logp


@dataclass(frozen=True)
class LikelihoodByEntropy(Term):
    """Likelihood of answers, the less sure the policy is of one the less (SRFT 2506.19767).

        objective=Objective(extra=(LikelihoodByEntropy(mean="policy"),))
        --mechanism.objective.extra likelihood-by-entropy --mechanism.objective.extra.0.mean policy
    """

    weight: float = 0.5
    does = likelihood_by_entropy

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})
