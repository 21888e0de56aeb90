"""The grade of a user's reward function, times a weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from assay.part import Rewarding
from assay.types import Episode, Problem, Reward

Rewards = list[Reward | None]


def scored(episodes: Sequence[Episode], *, name: str, weight: float, cut: Literal["scored", "wrong"]) -> Rewards:
    """weight * grade; None for an answer to which the reward function gave no grade. Where a cut answer is `wrong`, it
    has at most 0.
    """
    grades = [(episode.verdict.scores if episode.verdict else {}).get(name) for episode in episodes]
    values = [None if grade is None else weight * grade for grade in grades]
    most = [0.0 if cut == "wrong" and episode.finish == "length" else math.inf for episode in episodes]
    return [None if value is None else Reward(name, min(value, top)) for value, top in zip(values, most, strict=True)]


class Scored(Rewarding):
    """The grade of one reward function of the user. `assay train --reward` adds one such part for each function.

    For your own recipes: to put the grade of `--reward FILE.py:brevity` within another reward, as in
    `--mechanism.reward.0.of`.

    reward=(Scored(name="brevity", weight=0.5),)
    --mechanism.reward scored --mechanism.reward.0.name brevity --mechanism.reward.0.weight 0.5
    """

    name: str = "score"  # of the reward function
    weight: float = 1.0
    cut: Literal["scored", "wrong"] = "scored"  # wrong: an answer that the length limit cut off earns nothing
    does = scored

    def lacks(self, problem: Problem) -> str | None:
        return f"the reward function '{self.name}'"
