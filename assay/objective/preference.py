"""Preference losses: a preferred answer against another, relative to a frozen reference policy.

`pairs`, a part of `curate`, marks the pairs: in the weight `pair/K` of pair K the winner has 1, the loser -1, and every
other row of the group 0. Sums and means are over the tokens of an answer that train.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.part import Scope, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

PAIR = "weights/pair/"

FROM_VERDICTS = (
    "The frozen reference generates all answers, new ones in every step; a right answer is preferred to a wrong one of "
    "its group. Log-probs are those of temperature 1, whatever the temperature of sampling.",
    "The loss reads verdicts; the advantage is only shown. The scale is ours, except batch size and learning rate.",
)
"""Notes of every recipe that learns from preferences."""


@dataclass(frozen=True)
class Preference(WholeLoss):
    """Base class of preference losses: they compare rows with each other, and need the reference policy."""

    @property
    def scope(self) -> Scope:
        return "step"

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"ref"})


def pairs(view: View, score: Tensor) -> tuple[Tensor, Tensor]:
    """For the P pairs of which both rows are here: [P] score of the winner less score of the loser, and [P] the
    winner's row.
    """
    import torch

    names = sorted(name for name in view.streams if name.startswith(PAIR))
    if not names:
        raise ConfigError(
            "objective.whole: this loss needs pairs, and no row is marked. Add `pairs` to mechanism.curate."
        )
    margins, winners = [], []
    for name in names:
        sign = view.mean(view.streams[name].to(score.dtype))
        whole = (sign > 0) & (view.in_group(sign.abs()) == 2)
        margins.append(view.in_group(sign * score)[whole])
        winners.append(whole.nonzero().squeeze(-1))
    return torch.cat(margins), torch.cat(winners)
