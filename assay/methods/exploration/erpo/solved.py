"""The groups with a right answer, solved ones included."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row, by_group


def solved_groups(rows: Sequence[Row]) -> list[Row]:
    """Leaves out the groups in which every answer is wrong."""
    out: set[int] = set()
    for group in by_group(rows).values():
        if not any(row.right for row in group.members if row.in_group):
            out.update(group.places)
    return leave_out(rows, out)


class SolvedGroups(Curator):
    """Trains on the groups with a right answer, even if all are right; groups that are all wrong are left out.

    curate=(SolvedGroups(),)
    --mechanism.curate solved-groups
    """

    does = solved_groups
    needs_verdict = True
