"""Which tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Selector

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def unlikely(view: View, *, below: float) -> Tensor:
    """1[log mu < below]: tokens that the sampler found unlikely."""
    return view.mu < below


class MyMethod(Selector):
    """Fill in: which tokens (and the arXiv id). Here those that were less likely than e^below."""

    below: float = 0.0  # in nats; with 0 all
    does = unlikely
