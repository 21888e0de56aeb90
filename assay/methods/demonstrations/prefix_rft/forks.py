"""The tokens of a demonstration at which the policy's entropy is high."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay.objective.select import high_entropy
from assay.part import Proportion, Selector
from assay.types import Origin

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def forks(view: View, *, share: float) -> Tensor:
    """1[sampled by the policy] or 1[H > q], where q is the (1 - share)-quantile of H over the prefix tokens of the
    row.
    """
    given = view.streams["origin"] == Origin.INJECTED
    alone = dataclasses.replace(view, streams={**view.streams, "mask": view.streams["mask"] & given})
    return high_entropy(alone, share=share, by="row", side="high", ties=False) | ~given


class Forks(Selector):
    """Selects all tokens of the policy, and the prefix tokens with the highest entropy (Prefix-RFT 2507.01679).

    The quantile is taken within each prefix.

        objective=Objective(keep=(Forks(share=0.2),))
        --mechanism.objective.keep forks --mechanism.objective.keep.0.share 0.2
    """

    share: Proportion = 0.2
    does = forks

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})
