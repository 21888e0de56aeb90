"""Problems on which every answer failed, until their solutions have been studied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory.episodes import bare
from assay.part import Remembering, for_caller
from assay.types import Episode, Row

if TYPE_CHECKING:
    from assay.memory import Memory


def hold_unsolved(
    memory: Memory, *, episodes: Sequence[Episode], rows: Sequence[Row], student: str, place: str
) -> Memory:
    """One answer of each such problem, for its question; judged on the rows of a group's statistics without help."""
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
class HoldUnsolved(Remembering):
    """Hold each problem of which a whole group was wrong, the newest first; let go of what was studied in this step.

    What was posed has no worked solution, and is not held.

        remember=(HoldUnsolved(student="student"),)
        --mechanism.remember hold-unsolved --mechanism.remember.0.student student
    """

    keeps = "unsolved"

    name: str = for_caller("unsolved")
    student: str = "student"  # the role that studies
    does = hold_unsolved

    @property
    def called(self) -> str:
        return self.name
