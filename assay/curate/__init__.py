"""Which rows train."""

from __future__ import annotations

from collections.abc import Callable

from assay.curate.parts import FirstGroups, MixedGroups, first_groups, groups, leave_out, measure, mixed_groups, spread
from assay.curate.replace import MakeRoom, make_room
from assay.curate.solved import SolvedGroups, solved_groups
from assay.curate.trees import BackedUp, DrawLeaves, OwnTokens, backed_up, draw_leaves, own_tokens
from assay.part import Part
from assay.types import Row

CURATORS: dict[str, tuple[type[Part], Callable[..., list[Row]]]] = {
    "mixed-groups": (MixedGroups, mixed_groups),
    "first-groups": (FirstGroups, first_groups),
    "make-room": (MakeRoom, make_room),
    "solved-groups": (SolvedGroups, solved_groups),
    "own-tokens": (OwnTokens, own_tokens),
    "draw-leaves": (DrawLeaves, draw_leaves),
    "backed-up": (BackedUp, backed_up),
}

__all__ = [
    "CURATORS",
    "BackedUp",
    "DrawLeaves",
    "FirstGroups",
    "MakeRoom",
    "MixedGroups",
    "OwnTokens",
    "SolvedGroups",
    "groups",
    "leave_out",
    "measure",
    "spread",
]
