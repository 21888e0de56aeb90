"""The penalty for missing the length that the prompt asks for."""

from __future__ import annotations

from collections.abc import Sequence

from assay.methods.shaping.l1.budget import budget_of
from assay.part import Count, Rewarding, scales_with
from assay.types import Episode, Reward


def adherence(episodes: Sequence[Episode], *, unit: int, margin: float) -> list[Reward | None]:
    """The penalties; 0 if the prompt gives no budget. T counts the tokens of the answer without replies of tools."""
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


class Adherence(Rewarding):
    """Penalises answers that miss the budget of n tokens in the prompt (L1 2503.04697; part `budget` of `ask`).

    If the prompt says exactly n, the penalty is |n - T| / unit. If it says at most n, a right answer keeps only
    clip((n - T) / unit + margin, 0, 1) of its reward of 1.

        reward=(Adherence(margin=0.5),)
        --mechanism.reward adherence --mechanism.reward.0.margin 0.5
    """

    writes = ("penalty",)
    unit: Count = scales_with("max_new", 3333, at=4096)  # an answer that misses the budget by so many tokens loses 1
    margin: float = 0.5  # with "at most n": the reward that a right answer of n tokens keeps
    does = adherence
    needs = ("texts",)
    needs_verdict = True
