"""Recomposed batches: short right and long wrong answers first, the other answers later."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from assay.memory import KeepLeftovers, Memory
from assay.memory.leftovers import STORE, aside, leftovers, returned
from assay.part import Curator, Proportion
from assay.types import Episode, Row, by_group


def recompose(
    rows: Sequence[Row],
    memory: Memory,
    *,
    num_steps: int,
    share: float,
    often: float,
    seldom: float,
    place: str = STORE,
) -> list[Row]:
    """Splits the rows into the first batch, the rows that wait, and the second batch.

    Rows that wait stay in the statistics of their group. Rows that count in a denominator without training count with
    the first batch.
    """
    first = priority(rows, share)
    result = [
        aside(row, place) if row.in_loss and i not in first else row.mark(batch="first") for i, row in enumerate(rows)
    ]
    progress = min(1.0, memory.step / max(1, num_steps - 1))
    chance = seldom + (often - seldom) * 0.5 * (1 + math.cos(math.pi * progress))
    if memory.key("recompose", memory.step).generator().random() < chance:
        result += _compensation(memory, len(first), place)
    return result


class Recompose(Curator):
    """The shortest right and the longest wrong rows of each group train now, as a batch of their own (RoRecomp).

    The other rows wait in the memory. Once as many rows wait as train, the oldest of them are a second batch of the
    step, with a probability that falls by a cosine from `often` to `seldom` over the run.

        curate=(Recompose(share=0.5),)
        --mechanism.curate recompose --mechanism.curate.0.share 0.5
    """

    reads = (KeepLeftovers,)
    writes = ("rows", "aside")  # on each row, to which batch it belongs

    share: Proportion = 0.5  # the share of the right rows, and of the wrong rows, that trains first
    often: float = 1.0
    seldom: float = 0.2
    does = recompose
    needs_verdict = True

    @property
    def called(self) -> str:
        """The store's name; there is one store for this part."""
        return "recompose"


def priority(rows: Sequence[Row], share: float) -> set[int]:
    """The shortest ceil(share n) of the n right rows of a group, and the same share of its wrong rows, the longest."""
    chosen: set[int] = set()
    for group in by_group(rows).values():
        for right in (True, False):
            alive = [i for i in group.places if rows[i].in_loss and rows[i].right == right]
            alive.sort(key=lambda i: length(rows[i].episode), reverse=not right)
            chosen.update(alive[: math.ceil(share * len(alive))])
    return chosen


def length(episode: Episode) -> tuple[int, int]:
    """(number of tool calls, number of tokens without replies), by which answers are compared."""
    calls = sum(segment.is_reply for segment in episode.segments)
    return calls, episode.written


def _compensation(memory: Memory, size: int, place: str) -> list[Row]:
    """The oldest groups that together have `size` waiting rows; none while fewer wait."""
    waiting = [
        [returned(e, marks, place, batch="second") for e in held] for marks, held in leftovers(memory, place).values()
    ]
    counts = [sum(row.in_loss for row in rows) for rows in waiting]
    if sum(counts) < max(1, size):
        return []
    before = itertools.accumulate(counts, initial=0)
    return [row for rows, count in zip(waiting, before, strict=False) if count < size for row in rows]
