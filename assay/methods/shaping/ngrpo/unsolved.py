"""The groups with a wrong answer, unsolved ones included."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row, by_group


def unsolved_groups(rows: Sequence[Row]) -> list[Row]:
    """Leaves out the groups in which every answer is right."""
    out: set[int] = set()
    for group in by_group(rows).values():
        if all(row.right for row in group.members if row.in_group):
            out.update(group.places)
    return leave_out(rows, out)


class UnsolvedGroups(Curator):
    """Trains on the groups with a wrong answer, even if all are wrong; groups that are all right are left out.

    curate=(UnsolvedGroups(),)
    --mechanism.curate unsolved-groups
    """

    does = unsolved_groups
    needs_verdict = True
