"""The groups with a right answer, solved ones included."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.grouping import groups, measure
from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row


def solved_groups(rows: Sequence[Row]) -> list[Row]:
    """Leaves out the groups in which every answer is wrong."""
    out: set[int] = set()
    for members in groups(rows).values():
        if not any(measure(rows[i], "accuracy") for i in members if rows[i].in_group):
            out.update(members)
    return leave_out(rows, out)


class SolvedGroups(Curator):
    """Trains on the groups with a right answer, even if all are right; groups that are all wrong are left out.

    curate=(SolvedGroups(),)
    --mechanism.curate solved-groups
    """

    does = solved_groups
