from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.curate.parts import groups, leave_out, measure
from assay.part import Part
from assay.types import Row


@dataclass(frozen=True)
class SolvedGroups(Part):
    """Keep the groups in which an answer is right, those without a mistake too; drop those that are all wrong."""


def solved_groups(rows: Sequence[Row]) -> list[Row]:
    out: set[int] = set()
    for members in groups(rows).values():
        if not any(measure(rows[i], "accuracy") for i in members if rows[i].in_group):
            out.update(members)
    return leave_out(rows, out)
