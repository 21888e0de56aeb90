"""A term beside the policy loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Positive, Term

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def nearness(view: View, *, weight: float) -> Tensor:
    """weight (log pi - log pi_old)^2 / 2 of each token."""
    return weight * (view.logp - view.old).square() / 2


class MyMethod(Term):
    """Fill in: what is added to the loss (and the arXiv id). Here a squared distance to the policy before the step."""

    weight: Positive = 0.1
    does = nearness

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})
