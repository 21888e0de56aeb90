"""Batches recomposed: short right and long wrong answers first, what is left over later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.grouping import groups, measure
from assay.memory import Memory
from assay.memory.leftovers import leftovers, returned
from assay.part import Part
from assay.types import Episode, Origin, Row


@dataclass(frozen=True)
class Recompose(Part):
    """Of each group the shortest right and the longest wrong rows train now, as a batch of their own (RoRecomp).

    What is left over waits in memory. Once as many rows wait as train, the oldest of them are a second batch of the
    step, with a probability that falls by a cosine from `often` to `seldom` over the run.
    """

    share: float = 0.5  # of either kind
    often: float = 1.0
    seldom: float = 0.2


def recompose(
    rows: Sequence[Row], memory: Memory, *, num_steps: int, share: float, often: float, seldom: float
) -> list[Row]:
    """Rows left over stay in the statistics of their group, and come back in the company of it."""
    first = priority(rows, share)
    result = []
    for i, row in enumerate(rows):
        waits = row.in_loss and i not in first
        result.append(row.mark(in_loss=False, in_denominator=False, tag="left-over") if waits else row)
    result = [row.mark(batch="first") if i in first else row for i, row in enumerate(result)]
    progress = min(1.0, memory.step / max(1, num_steps - 1))
    chance = seldom + (often - seldom) * 0.5 * (1 + math.cos(math.pi * progress))
    if memory.key("recompose", memory.step).generator().random() < chance:
        result += _compensation(memory, len(first))
    return result


def priority(rows: Sequence[Row], share: float) -> set[int]:
    """ceil(share n) of the n right rows of a group, by length, and likewise of the wrong ones, by falling length."""
    chosen: set[int] = set()
    for members in groups(rows).values():
        for right in (True, False):
            alive = [i for i in members if rows[i].in_loss and (measure(rows[i], "accuracy") == 1.0) == right]
            alive.sort(key=lambda i: length(rows[i].episode), reverse=not right)
            chosen.update(alive[: math.ceil(share * len(alive))])
    return chosen


def length(episode: Episode) -> tuple[int, int]:
    """Calls of a tool, then tokens."""
    calls = sum(len(segment) > 0 and segment.origin[0] == Origin.ENV for segment in episode.segments)
    return calls, len(episode)


def _compensation(memory: Memory, size: int) -> list[Row]:
    """The oldest groups with at least `size` rows left over; nothing while fewer wait."""
    waiting, found, count = leftovers(memory), [], 0
    if sum(len(asked) for asked, _ in waiting.values()) < max(1, size):
        return []
    for asked, episodes in waiting.values():
        if count >= size:
            break
        count += len(asked)
        found += [returned(e, trains=e.request.id in asked, batch="second") for e in episodes]
    return found
