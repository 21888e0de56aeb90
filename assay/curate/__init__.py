"""Which rows train."""

from __future__ import annotations

from collections.abc import Callable

from assay.curate.parts import FirstGroups, MixedGroups, first_groups, groups, leave_out, measure, mixed_groups, spread
from assay.curate.replace import MakeRoom, make_room
from assay.curate.solved import SolvedGroups, solved_groups
from assay.part import Part
from assay.types import Row

__all__ = ["CURATORS", "FirstGroups", "MixedGroups", "groups", "leave_out", "measure", "spread"]

CURATORS: dict[str, tuple[type[Part], Callable[..., list[Row]]]] = {
    "mixed-groups": (MixedGroups, mixed_groups),
    "first-groups": (FirstGroups, first_groups),
    "make-room": (MakeRoom, make_room),
    "solved-groups": (SolvedGroups, solved_groups),
}
