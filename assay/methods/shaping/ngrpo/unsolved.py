"""The groups with a wrong answer, unsolved ones included."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.grouping import groups, measure
from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row


def unsolved_groups(rows: Sequence[Row]) -> list[Row]:
    """Leaves out the groups in which every answer is right."""
    out: set[int] = set()
    for members in groups(rows).values():
        if all(measure(rows[i], "accuracy") for i in members if rows[i].in_group):
            out.update(members)
    return leave_out(rows, out)


class UnsolvedGroups(Curator):
    """Trains on the groups with a wrong answer, even if all are wrong; groups that are all right are left out.

    curate=(UnsolvedGroups(),)
    --mechanism.curate unsolved-groups
    """

    does = unsolved_groups
