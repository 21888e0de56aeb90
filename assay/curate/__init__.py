"""Which rows train."""

from assay.curate.parts import CURATORS, FirstGroups, MixedGroups, groups, leave_out, measure, spread
from assay.curate.trees import BackedUp, DrawLeaves, OwnTokens, backed_up, draw_leaves, own_tokens

CURATORS |= {
    "own-tokens": (OwnTokens, own_tokens),
    "draw-leaves": (DrawLeaves, draw_leaves),
    "backed-up": (BackedUp, backed_up),
}

__all__ = [
    "CURATORS",
    "BackedUp",
    "DrawLeaves",
    "FirstGroups",
    "MixedGroups",
    "OwnTokens",
    "groups",
    "leave_out",
    "measure",
    "spread",
]
