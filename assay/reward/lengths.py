"""Rewards that depend on the length of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Count, Rewarding, scales_with
from assay.types import Episode, Reward


def soft_overlong(episodes: Sequence[Episode], *, max_new: int, buffer: int, factor: float) -> list[Reward | None]:
    """factor min(0, (L - buffer - T) / buffer), T the length of the answer, L the generation limit (2503.14476).

    Replies of an environment count in T, as they do in L.
    """
    return [Reward("overlong", min(0.0, (max_new - buffer - len(episode)) / buffer) * factor) for episode in episodes]


class SoftOverlong(Rewarding):
    """DAPO's soft overlong punishment: the last `buffer` tokens before the limit cost up to `factor`, right or wrong.

    reward=(Outcome(), SoftOverlong(buffer=512))
    --mechanism.reward outcome,soft-overlong --mechanism.reward.1.buffer 512
    """

    writes = ("penalty",)
    buffer: Count = scales_with("max_new", 4096, at=20480)  # in tokens
    factor: float = 1.0  # the penalty of an answer that has the length of the limit
    does = soft_overlong
