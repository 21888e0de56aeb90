"""The distribution of the groups' mean rewards over the whole run, which tells how easy a group is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.part import Remembering
from assay.types import Row, by_group

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "difficulty"  # mean reward in thousandths -> number of groups that had it


def track_difficulty(memory: Memory, *, rows: Sequence[Row], place: str = STORE) -> Memory:
    """The memory with the groups of the step counted, over all rows that have a reward, left out of training or not."""
    store = memory.store(place)
    for group in by_group([r for r in rows if r.reward is not None and r.episode.provenance == "fresh"]).values():
        values = [reward for reward in group.rewards if reward is not None]
        mean = str(round(1000 * sum(values) / len(values)))
        store[mean] = store.get(mean, 0) + 1
    return memory.keep(place, store)


class TrackDifficulty(Remembering):
    """Counts the mean reward of every group, to a thousandth, which gives quantiles of the whole run in little space.

    remember=(TrackDifficulty(),)
    --mechanism.remember track-difficulty
    """

    keeps = STORE
    does = track_difficulty


def quantile(seen: Mapping[str, int], share: float) -> float:
    """The smallest mean reward such that at least this share of all groups is at or below it."""
    left = share * sum(seen.values())
    for place in sorted(seen, key=int):
        left -= seen[place]
        if left <= 1e-9:
            return int(place) / 1000
    return float("-inf")
