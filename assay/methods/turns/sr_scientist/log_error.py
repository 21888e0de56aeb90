"""The reward of a formula by the logarithm of its error."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward


def on_scale(error: float, *, worst: float, goal: float) -> float:
    """clip((log worst - log error) / (log worst - log goal), 0, 1); an error of 0 is worth 1."""
    if error <= goal:
        return 1.0
    return max(0.0, math.log(worst / error) / math.log(worst / goal))


def log_error(episodes: Sequence[Episode], *, worst: float, goal: float) -> list[Reward | None]:
    """By the error of the verdict. Without one, as for an answer with no formula, 1 if it is right, else 0."""
    from assay.tasks.equation import ERROR

    result: list[Reward | None] = []
    for episode in episodes:
        error = (episode.verdict.scores if episode.verdict else {}).get(ERROR)
        value = float(episode.right) if error is None else on_scale(error, worst=worst, goal=goal)
        result.append(Reward("log-error", value))
    return result


class LogError(Rewarding):
    """R = clip((log worst - log s) / (log worst - log goal), 0, 1) of the mean relative error s at points that nobody
    has seen (SR-Scientist 2510.11661).

    The verifier chooses the formula of an answer whose error is least at the points that are shown, and measures that
    one. An answer to another kind of problem earns 1 if it is right, else 0.

        reward=(LogError(worst=1.0, goal=0.001),)
        --mechanism.reward log-error --mechanism.reward.0.goal 0.001
    """

    worst: float = 1.0  # an error of 100 %, or a larger one, is worth 0
    goal: float = 0.001  # an error of 0.1 %, or a smaller one, is worth 1
    does = log_error
    needs_verdict = True
    outcome = True

    def refusal(self, **_: object) -> str | None:
        if 0 < self.goal < self.worst:
            return None
        return f"log-error: goal is above 0 and below worst, not {self.goal} with worst {self.worst}."
