"""What an answer is worth for being short beside the other answers of its group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.part import Rewarding
from assay.types import Episode, Reward


def shortness(episodes: Sequence[Episode], *, weight: float) -> list[Reward | None]:
    """weight * l_i, or of wrong answers weight * min(0, l_i), l_i = 1/2 - (T_i - min T) / (max T - min T); 0 where all
    lengths of the group are one. Replies of tools are not in T.
    """
    lengths: dict[str, list[int]] = {}
    for episode in episodes:
        lengths.setdefault(episode.request.group, []).append(episode.written)
    result: list[Reward | None] = []
    for episode in episodes:
        group = lengths[episode.request.group]
        low, high = min(group), max(group)
        worth = 0.5 - (episode.written - low) / (high - low) if high > low else 0.0
        result.append(Reward("shortness", weight * (worth if episode.right else min(0.0, worth))))
    return result


@dataclass(frozen=True)
class Shortness(Rewarding):
    """Short beside the other answers of the group is worth up to half a reward, long costs as much (Kimi k1.5
    2501.12599). A wrong answer earns nothing by it.
    """

    weight: float = 1.0
    does = shortness
