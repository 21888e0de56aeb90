"""The score of a user's reward function, times a weight."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Problem, Reward


def scored(episodes: Sequence[Episode], *, name: str, weight: float) -> list[Reward | None]:
    """weight * score; None for an answer to which the reward function gave no score."""
    scores = [(episode.verdict.scores if episode.verdict else {}).get(name) for episode in episodes]
    return [None if score is None else Reward(name, weight * score) for score in scores]


class Scored(Rewarding):
    """The score of one reward function of the user. `assay train --reward` adds one such part for each function.

    reward=(Scored(name="brevity", weight=0.5),)
    --mechanism.reward scored --mechanism.reward.0.name brevity --mechanism.reward.0.weight 0.5
    """

    name: str = "score"  # of the reward function
    weight: float = 1.0
    does = scored

    def lacks(self, problem: Problem) -> str | None:
        return f"the reward function '{self.name}'"
