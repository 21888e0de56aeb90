"""The score of a reward model beside a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.part import Rewarding
from assay.types import Episode, Reward


def model_score(episodes: Sequence[Episode], *, alpha: float, score: str) -> list[Reward | None]:
    result: list[Reward | None] = []
    for episode in episodes:
        said = (episode.verdict.scores if episode.verdict else {}).get(score) or 0.0
        result.append(Reward("model-score", (math.tanh(alpha * said / 2) - 1) / 2))  # the sigmoid, without overflow
    return result


@dataclass(frozen=True)
class ModelScore(Rewarding):
    """sigmoid(alpha s) - 1, s a reward model's score: beside an outcome of 1 and 0 every right answer stands above any
    wrong one, and ranks either kind by the score (Qwen2.5-Math 2409.12122).

        reward=(ModelScore(alpha=0.5),)
        --mechanism.reward model-score --mechanism.reward.0.alpha 0.5
    """

    alpha: float = 0.5
    score: str = "score"  # its name among the scores of the verdict; an answer without it has s = 0
    does = model_score
