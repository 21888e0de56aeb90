"""Which rows train."""

from assay.curate.parts import CURATORS, FirstGroups, MixedGroups, groups, leave_out, measure, spread

__all__ = ["CURATORS", "FirstGroups", "MixedGroups", "groups", "leave_out", "measure", "spread"]
