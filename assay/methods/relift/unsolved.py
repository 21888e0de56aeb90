"""Problems on which a whole group failed, stored until their solutions were studied."""

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


def hold_unsolved(
    memory: Memory, *, episodes: Sequence[Episode], rows: Sequence[Row], student: str, place: str
) -> Memory:
    """The memory with one answer of each failed problem, for its question. Answers with a hint and rows outside the
    group's statistics do not count.
    """
    studied = {e.request.problem.id for e in episodes if e.request.role == student}
    held = [e for e in memory.kept.get(place, ()) if e.request.problem.id not in studied]
    groups: dict[str, list[Episode]] = {}
    for row in rows:
        if row.in_group and row.role != student and not row.episode.request.helped:
            groups.setdefault(row.group, []).append(row.episode)
    known = {e.request.problem.id for e in held}
    for members in groups.values():
        problem = members[0].request.problem
        if problem.id not in known and problem.provenance != "posed" and not any(e.right for e in members):
            held.insert(0, bare(members[0]))
            known.add(problem.id)
    return memory.hold(place, held)


@dataclass(frozen=True)
class HoldUnsolved(Named, Remembering):
    """Stores each problem on which a whole group was wrong, the newest first, and drops those studied in this step.

    A problem that a policy posed has no worked solution and is not stored.

        remember=(HoldUnsolved(student="student"),)
        --mechanism.remember hold-unsolved --mechanism.remember.0.student student
    """

    keeps = "unsolved"

    name: str = for_caller("unsolved")  # of the store; readers bear the same
    student: str = "student"  # the role that studies the solutions
    does = hold_unsolved
