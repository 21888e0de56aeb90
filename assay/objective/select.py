"""Selectors: which tokens. They mask the policy term, tell cases apart, and say where a further term acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.part import Selector
from assay.types import Origin

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope


def tagged(view: View, *, tag: str) -> Tensor:
    """1[tag of the row = tag]."""
    return view.of_rows([name == tag for name in view.batch.tag or [""] * len(view.batch)])


@dataclass(frozen=True)
class Tagged(Selector):
    """Tokens of the rows with this tag."""

    tag: str = ""
    does = tagged

    @property
    def scope(self) -> LossScope:
        return "data"


def written(view: View, *, by: str) -> Tensor:
    """1[origin = by]."""
    return view.streams["origin"] == Origin[by.upper()]


@dataclass(frozen=True)
class Written(Selector):
    """Tokens by who wrote them: the policy, or somebody else for it."""

    by: Literal["policy", "injected"] = "injected"
    does = written

    @property
    def scope(self) -> LossScope:
        return "data"


def judged(view: View, *, right: bool) -> Tensor:
    """1[verdict of the row]."""
    return view.spread(view.right == right)


@dataclass(frozen=True)
class Judged(Selector):
    """Tokens of the answers that were judged right, or of those that were judged wrong."""

    right: bool = True
    does = judged

    @property
    def scope(self) -> LossScope:
        return "data"


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


@dataclass(frozen=True)
class HighEntropy(Selector):
    """The tokens where the policy hesitates most, or with `side=low` all others.

    The quantile is that of each answer by itself, or of all trained tokens of the optimiser step; never of a chunk. A
    tie with the quantile is high where `ties`, and everything is where the quantile is 0.
    """

    share: float = 0.2
    by: Literal["row", "step"] = "row"
    side: Literal["high", "low"] = "high"
    ties: bool = False
    does = high_entropy

    @property
    def scope(self) -> LossScope:
        return self.by

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})


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
