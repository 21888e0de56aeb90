"""Preference losses: a preferred answer against another, relative to a frozen reference policy.

`pairs`, a part of `curate`, marks the pairs: of each pair the winner has 1, the loser -1, and every other row of the
group 0. Sums and means are over the tokens of an answer that train.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.curate.pairs import SIDES
from assay.part import LossScope, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

FROM_VERDICTS = (
    "The frozen reference generates all answers, new ones in every step; a right answer is preferred to a wrong one of "
    "its group. Log-probs are those of temperature 1, whatever the temperature of sampling.",
    "The loss reads verdicts; the advantage is only shown. The scale is ours, except batch size and learning rate.",
)
"""Notes of every recipe that learns from preferences."""


class Preference(WholeLoss):
    """Base class of preference losses: they compare rows with each other, and need the reference policy."""

    @property
    def scope(self) -> LossScope:
        return "step"

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"ref"})


def pairs(view: View, score: Tensor) -> tuple[Tensor, Tensor]:
    """For the P pairs of which both rows are here: [P] score of the winner less score of the loser, and [P] the
    winner's row.
    """
    import torch

    sides = view.constant(SIDES).to(score.dtype) * (view.length > 0).unsqueeze(-1)
    margins, winners = [score.new_zeros(0)], [view.row.new_zeros(0)]
    for sign in sides.unbind(-1):
        whole = (sign > 0) & (view.in_group(sign.abs()) == 2)
        margins.append(view.in_group(sign * score)[whole])
        winners.append(whole.nonzero().squeeze(-1))
    return torch.cat(margins), torch.cat(winners)
