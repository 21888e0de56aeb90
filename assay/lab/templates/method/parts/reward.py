"""What an answer is worth."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Positive, Rewarding
from assay.types import Episode, Reward


def brief(episodes: Sequence[Episode], *, weight: float) -> list[Reward | None]:
    """R = -weight T / L, T the tokens of the answer and L its limit."""
    return [Reward("my-method", -weight * len(episode) / max(1, episode.request.max_new)) for episode in episodes]


class MyMethod(Rewarding):
    """Fill in: what the reward pays (and the arXiv id). Here every token costs something."""

    weight: Positive = 0.1  # what an answer of the full length costs
    writes = ("penalty",)
    does = brief
