"""Selectors: which tokens. They mask the policy term, tell cases apart, and say where a further term acts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.objective.covariance import Covariance, covariance
from assay.objective.divergence import Followed, Near, followed, near
from assay.part import Part, Registry
from assay.types import Origin

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import Scope


@dataclass(frozen=True)
class Tagged(Part):
    """Tokens of the rows with this tag."""

    tag: str = ""

    @property
    def scope(self) -> Scope:
        return "data"


def tagged(view: View, *, tag: str) -> Tensor:
    """1[tag of the row = tag]."""
    return view.of_rows([name == tag for name in view.batch.tag or [""] * len(view.batch)])


@dataclass(frozen=True)
class Written(Part):
    """Tokens by who wrote them: the policy, or somebody else for it."""

    by: Literal["policy", "injected"] = "injected"

    @property
    def scope(self) -> Scope:
        return "data"


def written(view: View, *, by: str) -> Tensor:
    """1[origin = by]."""
    return view.streams["origin"] == Origin[by.upper()]


@dataclass(frozen=True)
class Judged(Part):
    """Tokens of the answers that were judged right, or of those that were judged wrong."""

    right: bool = True

    @property
    def scope(self) -> Scope:
        return "data"


def judged(view: View, *, right: bool) -> Tensor:
    """1[verdict of the row]."""
    return view.spread(view.right == right)


@dataclass(frozen=True)
class HighEntropy(Part):
    """The tokens where the policy hesitates most, or with `side=low` all others.

    The quantile is that of each answer by itself, or of all trained tokens of the optimiser step; never of a chunk. A
    tie with the quantile is high where `ties`, and everything is where the quantile is 0.
    """

    share: float = 0.2
    by: Literal["row", "step"] = "row"
    side: Literal["high", "low"] = "high"
    ties: bool = False

    @property
    def scope(self) -> Scope:
        return self.by

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})


def high_entropy(view: View, *, share: float, by: str, side: str, ties: bool) -> Tensor:
    """1[H > q] or 1[H >= q], q the (1 - share)-quantile of H over the tokens that train; or the others."""
    assert view.entropy is not None
    entropy, trained = view.entropy.detach(), view.mask > 0
    of = view.row if by == "row" else view.row.new_zeros(view.row.shape)
    edge = _quantiles(entropy.double(), of, trained, 1 - share)
    reached = (edge <= 0) | ties
    own = edge.to(entropy.dtype)[of]
    high = (entropy >= own).where(reached[of], entropy > own) & trained
    return high if side == "high" else trained & ~high


def _quantiles(x: Tensor, of: Tensor, among: Tensor, share: float) -> Tensor:
    """For each number in `of` the linear quantile of x over its tokens that are `among`; anything where it has none."""
    values, order = x[among].sort()
    owner, order = of[among][order].sort(stable=True)
    count = owner.bincount(minlength=int(of.max()) + 1 if len(of) else 0)
    first, last = count.cumsum(0) - count, max(0, len(values) - 1)
    rank = share * (count - 1).clamp(min=0).double()
    values = x.new_zeros(1) if len(values) == 0 else values[order]
    low, high = (values[(first + place.long()).clamp(max=last)] for place in (rank.floor(), rank.ceil()))
    return low.lerp(high, rank - rank.floor())


@dataclass(frozen=True)
class Forks(Part):
    """All tokens of the policy; of the tokens that it was given, those where it hesitates most (Prefix-RFT 2507.01679).

    The quantile is that of each given beginning by itself.
    """

    share: float = 0.2

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})


def forks(view: View, *, share: float) -> Tensor:
    """1[written by the policy] or 1[H > q], q the (1 - share)-quantile of H over the given tokens of the row."""
    given = view.streams["origin"] == Origin.INJECTED
    alone = dataclasses.replace(view, streams={**view.streams, "mask": view.streams["mask"] & given})
    return high_entropy(alone, share=share, by="row", side="high", ties=False) | ~given


SELECTORS: Registry = {
    "tagged": (Tagged, tagged),
    "written": (Written, written),
    "judged": (Judged, judged),
    "high-entropy": (HighEntropy, high_entropy),
    "forks": (Forks, forks),
    "covariance": (Covariance, covariance),
    "near": (Near, near),
    "followed": (Followed, followed),
}
