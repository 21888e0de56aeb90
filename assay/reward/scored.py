"""The reward that a user's function gave, times its weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.part import Rewarding
from assay.types import Episode, Reward


def scored(episodes: Sequence[Episode], *, name: str, weight: float) -> list[Reward | None]:
    """weight * score; None where the function does not apply."""
    scores = [(episode.verdict.scores if episode.verdict else {}).get(name) for episode in episodes]
    return [None if score is None else Reward(name, weight * score) for score in scores]


@dataclass(frozen=True)
class Scored(Rewarding):
    """What one reward function says. `train --reward` puts one for each in the place of right and wrong."""

    name: str = "score"  # of the reward function
    weight: float = 1.0
    does = scored
