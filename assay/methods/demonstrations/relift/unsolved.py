"""Problems to which all answers of a group were wrong, stored until the policy has studied their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory.episodes import bare
from assay.memory.places import Named
from assay.part import Remembering, for_caller
from assay.types import Episode, Row, by_group

if TYPE_CHECKING:
    from assay.memory import Memory


def hold_unsolved(
    memory: Memory, *, episodes: Sequence[Episode], rows: Sequence[Row], student: str, place: str
) -> Memory:
    """The memory after the step, with one answer to each failed problem; of this answer only the problem is used.

    Answers with a hint, and rows outside the statistics of their group, do not count.
    """
    studied = {e.request.problem.id for e in episodes if e.request.role == student}
    held = [e for e in memory.kept.get(place, ()) if e.request.problem.id not in studied]
    own = [row.episode for row in rows if row.in_group and row.role != student and not row.episode.request.helped]
    held_ids = {e.request.problem.id for e in held}
    for group in by_group(own).values():
        problem = group.members[0].request.problem
        if problem.id not in held_ids and problem.provenance != "posed" and not any(group.right):
            held.insert(0, bare(group.members[0]))
            held_ids.add(problem.id)
    return memory.hold(place, held)


class HoldUnsolved(Named, Remembering):
    """Stores each problem to which all answers of a group were wrong, the newest first. A problem whose solution was
    studied in this step is removed.

    A problem that a policy posed has no worked solution and is not stored.

        remember=(HoldUnsolved(student="student"),)
        --mechanism.remember hold-unsolved --mechanism.remember.0.student student
    """

    keeps = "unsolved"

    name: str = for_caller("unsolved")  # the name of the store; a part that reads this store has the same name
    student: str = "student"  # the role that studies the solutions
    does = hold_unsolved
    needs_verdict = True
