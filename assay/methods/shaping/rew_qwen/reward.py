"""A reward model's score as an addition to the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.reward.transforms import sigmoid
from assay.types import Episode, Reward


def model_score(episodes: Sequence[Episode], *, alpha: float, score: str) -> list[Reward | None]:
    """The reward of each answer by its score."""
    result: list[Reward | None] = []
    for episode in episodes:
        said = (episode.verdict.scores if episode.verdict else {}).get(score) or 0.0
        result.append(Reward("model-score", sigmoid(alpha * said) - 1))
    return result


class ModelScore(Rewarding):
    """sigmoid(alpha s) - 1, where s is a reward model's score (Qwen2.5-Math 2409.12122).

    Added to an outcome of 1 or 0, this puts every right answer above every wrong one, and ranks each kind by the
    score.

        reward=(ModelScore(alpha=0.5),)
        --mechanism.reward model-score --mechanism.reward.0.alpha 0.5
    """

    alpha: float = 0.5
    score: str = "score"  # the score's name in the verdict; an answer without it has s = 0
    does = model_score
    needs_verdict = True
