"""The graded match of tool calls as a reward."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward


def call_match(episodes: Sequence[Episode], *, score: str, best: float) -> list[Reward | None]:
    """The score of the verdict; without one, `best` for a right answer and -best for any other."""
    result: list[Reward | None] = []
    for episode in episodes:
        said = (episode.verdict.scores if episode.verdict else {}).get(score)
        plain = best if episode.right else -best
        result.append(Reward("call-match", plain if said is None or episode.finish != "stop" else said))
    return result


class CallMatch(Rewarding):
    """R_c = 6 s / s_max - 3, where s counts the names, keys and values that equal the reference (ToolRL 2504.13958).

    `assay/verifiers/calls.py` computes it; a task without graded matching has only the two ends of the scale.

        reward=(CallMatch(best=1.0),)
        --mechanism.reward call-match --mechanism.reward.0.best 1.0
    """

    score: str = "calls"  # the score's name in the verdict
    best: float = 3.0  # the reward of exact calls, for verdicts without this score
    does = call_match
    needs = ("texts",)
    needs_verdict = True
    outcome = True
