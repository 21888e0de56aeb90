"""A reward for the form of an answer alone."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.reward.parts import MALFORMED
from assay.types import Episode, Reward


def formatted(episodes: Sequence[Episode], *, readable: float, malformed: float) -> list[Reward | None]:
    """The reward of each answer by whether the verifier could read it."""
    kinds = ["wrong" if episode.verdict is None else episode.verdict.kind for episode in episodes]
    return [Reward("format", malformed if kind in MALFORMED else readable) for kind in kinds]


class Formatted(Rewarding):
    """Rewards an answer that the verifier can read, whether it is right or wrong.

    reward=(Formatted(readable=1.0),)
    --mechanism.reward formatted --mechanism.reward.0.readable 1.0
    """

    readable: float = 1.0  # reward of an answer that can be read
    malformed: float = 0.0  # reward of any other answer
    does = formatted
    needs_verdict = True
