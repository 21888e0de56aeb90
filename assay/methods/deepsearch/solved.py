"""Right answers to hard problems, held for the next time the problem is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory.episodes import bare
from assay.memory.places import Named
from assay.part import Remembering, for_caller
from assay.types import Episode, Row

if TYPE_CHECKING:
    from assay.memory import Memory


def hold_solved(memory: Memory, *, rows: Sequence[Row], group_size: int, most: float, place: str) -> Memory:
    """Judged on the fresh rows of a group's statistics without help: 0 < share <= most adds, share > most empties."""
    held: dict[str, list[Episode]] = {}
    for episode in memory.kept.get(place, ()):
        held.setdefault(episode.request.problem.id, []).append(episode)
    groups: dict[str, list[Episode]] = {}
    for row in rows:
        if row.in_group and row.episode.provenance == "fresh" and not row.episode.request.helped:
            groups.setdefault(row.group, []).append(row.episode)
    for members in groups.values():
        problem = members[0].request.problem.id
        right = [e for e in members if e.right]
        if len(right) > most * len(members):
            held.pop(problem, None)
        elif right:
            held[problem] = [*held.get(problem, []), *map(bare, right)][:group_size]
    return memory.hold(place, [episode for answers in held.values() for episode in answers])


@dataclass(frozen=True)
class HoldSolved(Named, Remembering):
    """Hold the right answers to problems of which at most this share was right; let go of those that are mastered."""

    keeps = "solved"

    most: float = 0.25
    name: str = for_caller("solved")  # of the store; readers bear the same
    does = hold_solved
