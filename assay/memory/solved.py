"""Right answers to hard problems, held for the next time the problem is drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.part import Part
from assay.types import Episode, Row, Segment

if TYPE_CHECKING:
    from assay.memory import Memory


@dataclass(frozen=True)
class HoldSolved(Part):
    """Hold the right answers to problems of which at most this share was right; let go of those that are mastered."""

    most: float = 0.25
    name: str = "solved"


def hold_solved(memory: Memory, *, rows: Sequence[Row], group_size: int, most: float, name: str) -> Memory:
    """Judged on the fresh rows of a group's statistics: 0 < share <= most adds, share > most empties."""
    held: dict[str, list[Episode]] = {}
    for episode in memory.kept.get(name, ()):
        held.setdefault(episode.request.problem.id, []).append(episode)
    groups: dict[str, list[Episode]] = {}
    for row in rows:
        if row.in_group and row.episode.provenance == "fresh":
            groups.setdefault(row.group, []).append(row.episode)
    for members in groups.values():
        problem = members[0].request.problem.id
        right = [e for e in members if e.right]
        if len(right) > most * len(members):
            held.pop(problem, None)
        elif right:
            held[problem] = [*held.get(problem, []), *map(bare, right)][:group_size]
    return memory.hold(name, [episode for answers in held.values() for episode in answers])


def bare(episode: Episode) -> Episode:
    """The answer as one segment of no node, without the log-probs of weights that are no more."""
    origin = episode.stream("origin").astype(np.int8)
    whole = Segment(episode.stream("ids").astype(np.int32), origin, version=episode.segments[-1].version)
    request = dataclasses.replace(episode.request, prefix=(), parent="", fork=0)
    return dataclasses.replace(episode, request=request, segments=(whole,), provenance="replay")
