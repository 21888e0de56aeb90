"""A weight for the difference between sampler and learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Correction, Positive

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def capped(view: View, *, cap: float) -> Tensor:
    """c = min(pi_old / mu, cap)."""
    return (view.old - view.mu).clamp(-20, 20).exp().clamp(max=cap)


class MyMethod(Correction):
    """Fill in: how tokens of another sampler count (and the arXiv id). Here by their ratio, up to a cap."""

    cap: Positive = 2.0
    does = capped

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})
