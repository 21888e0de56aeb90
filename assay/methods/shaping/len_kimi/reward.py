"""A reward for being shorter than the other answers of the group."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward, by_group


def shortness(episodes: Sequence[Episode], *, weight: float) -> list[Reward | None]:
    """weight * l_i, or weight * min(0, l_i) for wrong answers, where l_i = 1/2 - (T_i - min T) / (max T - min T); 0 if
    all lengths of the group are equal. Replies of tools do not count in T.
    """
    lengths = {name: [episode.written for episode in group.members] for name, group in by_group(episodes).items()}
    result: list[Reward | None] = []
    for episode in episodes:
        group = lengths[episode.group]
        low, high = min(group), max(group)
        worth = 0.5 - (episode.written - low) / (high - low) if high > low else 0.0
        result.append(Reward("shortness", weight * (worth if episode.right else min(0.0, worth))))
    return result


class Shortness(Rewarding):
    """The shortest answer of a group gains half a reward, the longest loses half a reward (Kimi k1.5 2501.12599).

    A wrong answer can only lose by its length.

        reward=(Shortness(weight=1.0),)
        --mechanism.reward shortness --mechanism.reward.0.weight 1.0
    """

    weight: float = 1.0
    does = shortness
    needs_verdict = True
