"""A reward for any answer at all."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward
from assay.verifiers.elections import answer_of


def marked(episodes: Sequence[Episode]) -> list[Reward | None]:
    """1 for a response that ended and marks an answer which is not empty, else 0."""
    return [Reward("marked", float(answer_of(episode) is not None)) for episode in episodes]


class Marked(Rewarding):
    """1 for a response that marks a final answer, whatever it says (the format reward of 2506.10947).

    reward=(Marked(),)
    --mechanism.reward marked
    """

    does = marked
    needs = ("texts",)
    outcome = True
