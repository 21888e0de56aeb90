"""A reward for wrong answers that can be read."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward


def partial_outcome(episodes: Sequence[Episode], *, right: float, readable: float, wrong: float) -> list[Reward | None]:
    """`right` if the verdict is ok, else `readable` if an answer was found that could be verified, else `wrong`."""
    worth = []
    for episode in episodes:
        verdict = episode.verdict
        found = verdict is not None and verdict.answer is not None
        worth.append(right if episode.right else readable if found else wrong)
    return [Reward("outcome", value) for value in worth]


class PartialOutcome(Rewarding):
    """A wrong answer earns part of the reward if the verifier could read it (R3 2402.05808).

    reward=(PartialOutcome(readable=0.2),)
    --mechanism.reward partial-outcome --mechanism.reward.0.readable 0.2
    """

    right: float = 1.0
    readable: float = 0.2
    wrong: float = 0.0
    does = partial_outcome
    needs_verdict = True
    outcome = True
