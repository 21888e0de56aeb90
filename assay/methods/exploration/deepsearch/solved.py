"""Right answers to hard problems, stored until the problem is drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory.episodes import bare
from assay.memory.places import Named
from assay.part import Remembering, for_caller
from assay.types import Episode, Row, by_group

if TYPE_CHECKING:
    from assay.memory import Memory


def hold_solved(memory: Memory, *, rows: Sequence[Row], group_size: int, most: float, place: str) -> Memory:
    """The memory after the step. The pass rate of a problem is the share of right answers among the fresh answers of
    its group that had no hint. If this rate is above 0 and at most `most`, the right answers are stored. If it is
    higher, the stored answers to the problem are deleted.
    """
    held: dict[str, list[Episode]] = {}
    for episode in memory.kept.get(place, ()):
        held.setdefault(episode.request.problem.id, []).append(episode)
    own = [row.episode for row in rows if row.in_group and row.episode.provenance == "fresh"]
    for group in by_group([episode for episode in own if not episode.request.helped]).values():
        problem = group.members[0].request.problem.id
        right = [e for e in group.members if e.right]
        if len(right) > most * len(group.members):
            held.pop(problem, None)
        elif right:
            held[problem] = [*held.get(problem, []), *map(bare, right)][:group_size]
    return memory.hold(place, [episode for answers in held.values() for episode in answers])


class HoldSolved(Named, Remembering):
    """Stores the right answers to a problem while its pass rate is at most `most`, and deletes them when the rate is
    higher.

        remember=(HoldSolved(most=0.25),)
        --mechanism.remember hold-solved --mechanism.remember.0.most 0.25
    """

    keeps = "solved"

    most: float = 0.25
    name: str = for_caller("solved")  # the name of the store; a part that reads this store has the same name
    does = hold_solved
    needs_verdict = True
