"""Which rows train."""

from assay.curate.parts import CURATORS, FirstGroups, MixedGroups, groups, leave_out, measure, spread
from assay.curate.trees import OwnTokens, own_tokens

CURATORS |= {"own-tokens": (OwnTokens, own_tokens)}

__all__ = ["CURATORS", "FirstGroups", "MixedGroups", "OwnTokens", "groups", "leave_out", "measure", "spread"]
