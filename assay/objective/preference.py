"""Losses on answers that are preferred to others, against a frozen reference.

Pairs are marked by `pairs` of `curate`: of each pair the winner has 1, its loser -1, and all other rows of the group 0.
Sums and means are over the tokens of an answer that train.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.curate.pairs import SIDES
from assay.part import LossScope, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

FROM_VERDICTS = (
    "All answers are those of the frozen reference, fresh in every step; a right one is preferred to a wrong one of "
    "its group. Log-probs are those of temperature 1, whatever was sampled at.",
    "The loss reads verdicts; the advantage is shown beside it. The scale is ours but for batch and rate.",
)
"""What is to be said of each recipe that learns preferences."""


@dataclass(frozen=True)
class Preference(WholeLoss):
    """What they have in common: rows are compared, and with a reference."""

    @property
    def scope(self) -> LossScope:
        return "step"

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"ref"})


def pairs(view: View, score: Tensor) -> tuple[Tensor, Tensor]:
    """[P] score of the winner less that of the loser, and the winner's row, of all pairs that are here whole."""
    import torch

    sides = view.constant(SIDES).to(score.dtype) * (view.length > 0).unsqueeze(-1)
    margins, winners = [score.new_zeros(0)], [view.row.new_zeros(0)]
    for sign in sides.unbind(-1):
        whole = (sign > 0) & (view.in_group(sign.abs()) == 2)
        margins.append(view.in_group(sign * score)[whole])
        winners.append(whole.nonzero().squeeze(-1))
    return torch.cat(margins), torch.cat(winners)
