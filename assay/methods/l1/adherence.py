"""How well an answer keeps to the length that its prompt asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.methods.l1.budget import budget_of
from assay.part import Rewarding, scales_with
from assay.types import Episode, Reward


def adherence(episodes: Sequence[Episode], *, unit: int, margin: float) -> list[Reward | None]:
    """0 where a prompt gives no budget. T is what was written; replies of tools cost nothing."""
    result: list[Reward | None] = []
    for episode in episodes:
        budget, cost = budget_of(episode.request), 0.0
        if budget is not None and budget.most:
            share = min(1.0, max(0.0, (budget.tokens - episode.written) / unit + margin))
            cost = (1.0 - share) * episode.right
        elif budget is not None:
            cost = abs(budget.tokens - episode.written) / unit
        result.append(Reward("adherence", -cost))
    return result


@dataclass(frozen=True)
class Adherence(Rewarding):
    """What it costs to miss the budget of n tokens that the prompt gives (L1 2503.04697; `ask` budget).

    Told n exactly, |n - T| / unit. Told n at most, a right answer keeps clip((n - T) / unit + margin, 0, 1) of its 1.
    """

    deducts: ClassVar[bool] = True
    unit: int = scales_with("max_new", 3333, at=4096)  # tokens beside the budget that cost a whole reward
    margin: float = 0.5  # what a right answer of the very length of its limit is worth
    does = adherence
