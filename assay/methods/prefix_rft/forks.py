"""The tokens of a demonstration at which the policy is most in doubt."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.objective.select import high_entropy
from assay.part import Selector
from assay.types import Origin

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def forks(view: View, *, share: float) -> Tensor:
    """1[written by the policy] or 1[H > q], q the (1 - share)-quantile of H over the given tokens of the row."""
    given = view.streams["origin"] == Origin.INJECTED
    alone = dataclasses.replace(view, streams={**view.streams, "mask": view.streams["mask"] & given})
    return high_entropy(alone, share=share, by="row", side="high", ties=False) | ~given


@dataclass(frozen=True)
class Forks(Selector):
    """All tokens of the policy; of the tokens that it was given, those where it hesitates most (Prefix-RFT
    2507.01679).

    The quantile is that of each given beginning by itself.

        objective=Objective(keep=(Forks(share=0.2),))
        --mechanism.objective.keep forks --mechanism.objective.keep.0.share 0.2
    """

    share: float = 0.2
    does = forks

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})
