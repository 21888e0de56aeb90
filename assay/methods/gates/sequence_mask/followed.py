"""Answers whose likelihood under the policy has not fallen too far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Selector

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def followed(view: View, *, most: float) -> Tensor:
    """1 - 1[A < 0, mean_t (log mu - log pi) > most]."""
    fallen = view.mean(view.mu - view.logp.detach())
    return ~((view.streams["advantage"] < 0) & view.spread(fallen > most))


class Followed(Selector):
    """Masks answers with a negative advantage whose mean log-prob has fallen by more than `most` since sampling
    (DeepSeek-V3.2 2512.02556).

        objective=Objective(keep=(Followed(most=0.5),))
        --mechanism.objective.keep followed --mechanism.objective.keep.0.most 0.5
    """

    most: float = 0.5
    does = followed
