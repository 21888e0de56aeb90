"""Which rows train."""

from assay.curate.parts import CURATORS, FirstGroups, MixedGroups, groups, leave_out, measure, spread
from assay.curate.trees import DrawLeaves, OwnTokens, draw_leaves, own_tokens

CURATORS |= {"own-tokens": (OwnTokens, own_tokens), "draw-leaves": (DrawLeaves, draw_leaves)}

__all__ = [
    "CURATORS",
    "DrawLeaves",
    "FirstGroups",
    "MixedGroups",
    "OwnTokens",
    "groups",
    "leave_out",
    "measure",
    "spread",
]
