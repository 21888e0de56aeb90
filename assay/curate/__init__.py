"""Which rows train."""

from assay.curate.parts import CURATORS, Band, FirstGroups, MixedGroups, groups, leave_out, measure, spread

__all__ = ["CURATORS", "Band", "FirstGroups", "MixedGroups", "groups", "leave_out", "measure", "spread"]
