"""Groups whose answers are all right, kept for their entropy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.curate.grouping import groups, measure
from assay.curate.parts import leave_out
from assay.part import Curator
from assay.types import Row


def solved_groups(rows: Sequence[Row]) -> list[Row]:
    out: set[int] = set()
    for members in groups(rows).values():
        if not any(measure(rows[i], "accuracy") for i in members if rows[i].in_group):
            out.update(members)
    return leave_out(rows, out)


@dataclass(frozen=True)
class SolvedGroups(Curator):
    """Keep the groups in which an answer is right, those without a mistake too; drop those that are all wrong."""

    does = solved_groups
