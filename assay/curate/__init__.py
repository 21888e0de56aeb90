"""Which rows train."""

from assay.curate.parts import CURATORS, Band, FirstGroups, MixedGroups, groups, leave_out, measure, spread
from assay.curate.players import Helpful, Unpaid, Untrained, helpful, unpaid, untrained

CURATORS |= {"unpaid": (Unpaid, unpaid), "untrained": (Untrained, untrained), "helpful": (Helpful, helpful)}

__all__ = [
    "CURATORS",
    "Band",
    "FirstGroups",
    "Helpful",
    "MixedGroups",
    "Unpaid",
    "Untrained",
    "groups",
    "leave_out",
    "measure",
    "spread",
]
