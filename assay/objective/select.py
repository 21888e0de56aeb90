"""Selectors: sets of tokens. A selector says which tokens `keep` trains, a case covers, or a term is added to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.part import Proportion, Selector
from assay.types import Origin

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope


def tagged(view: View, *, tag: str) -> Tensor:
    """1[tag of the row = tag]."""
    tags = view.batch.tag
    return view.of_rows([not tag] * len(view.batch) if tags is None else tags.are(tag))


class Tagged(Selector):
    """The tokens of the rows with this tag.

    objective=Objective(keep=(Tagged(tag="probe"),))
    --mechanism.objective.keep tagged --mechanism.objective.keep.0.tag probe
    """

    tag: str = ""  # of the row, else of its request
    does = tagged

    @property
    def scope(self) -> LossScope:
        return "data"


def written(view: View, *, by: str) -> Tensor:
    """1[origin = by]."""
    return view.streams["origin"] == getattr(Origin, by.upper())


class Written(Selector):
    """The tokens of an answer that the policy wrote, or the tokens that others wrote, such as a teacher.

    objective=Objective(keep=(Written(by="policy"),))
    --mechanism.objective.keep written --mechanism.objective.keep.0.by policy
    """

    by: Literal["policy", "injected"] = "injected"
    does = written

    @property
    def scope(self) -> LossScope:
        return "data"


def judged(view: View, *, right: bool) -> Tensor:
    """1[the answer is right], or with right=False 1[the answer is wrong]."""
    return view.spread(view.right == right)


class Judged(Selector):
    """The tokens of right answers, or with right=False of all other answers.

    objective=Objective(extra=(Likelihood(weight=0.1, over=Judged(right=True)),))
    --mechanism.objective.extra likelihood --mechanism.objective.extra.0.over judged
    """

    right: bool = True
    does = judged
    needs_verdict = True

    @property
    def scope(self) -> LossScope:
        return "data"


def high_entropy(view: View, *, share: float, by: str, side: str, ties: bool) -> Tensor:
    """1[H > q] or 1[H >= q], q the (1 - share)-quantile of the entropy H over the tokens that train; or the others."""
    assert view.entropy is not None
    entropy, trained = view.entropy.detach(), view.mask > 0
    of = view.row if by == "row" else view.row.new_zeros(view.row.shape)
    edge = _quantiles(entropy.double(), of, trained, 1 - share)
    reached = (edge <= 0) | ties
    own = edge.to(entropy.dtype)[of]
    high = (entropy >= own).where(reached[of], entropy > own) & trained
    return high if side == "high" else trained & ~high


class HighEntropy(Selector):
    """The `share` of the tokens that has the highest entropy (forking tokens), or with side="low" all other tokens.

    If the quantile is 0, all tokens are high, because a tie cannot be decided there.

        objective=Objective(keep=(HighEntropy(share=0.2),))
        --mechanism.objective.keep high-entropy --mechanism.objective.keep.0.share 0.2
    """

    share: Proportion = 0.2
    by: Literal["row", "step"] = "row"  # the quantile of each answer, or of all tokens of the optimiser step
    side: Literal["high", "low"] = "high"
    ties: bool = False  # whether a token whose entropy equals the quantile is high
    does = high_entropy

    @property
    def scope(self) -> LossScope:
        return self.by

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})


def _quantiles(x: Tensor, of: Tensor, among: Tensor, share: float) -> Tensor:
    """For each number in `of`, the linear quantile of x over the tokens of this number that are in `among`. Of a number
    without such tokens the result means nothing.
    """
    values, order = x[among].sort()
    owner, order = of[among][order].sort(stable=True)
    count = owner.bincount(minlength=int(of.max()) + 1 if len(of) else 0)
    first, last = count.cumsum(0) - count, max(0, len(values) - 1)
    rank = share * (count - 1).clamp(min=0).double()
    values = x.new_zeros(1) if len(values) == 0 else values[order]
    low, high = (values[(first + place.long()).clamp(max=last)] for place in (rank.floor(), rank.ceil()))
    return low.lerp(high, rank - rank.floor())
