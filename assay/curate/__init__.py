"""Curation: which rows train."""

from assay.curate.pairs import Pairs, TrainAt
from assay.curate.parts import Aside, BandFirst, FirstGroups, MixedGroups, leave_out
from assay.curate.players import Untrained

__all__ = [
    "Aside",
    "BandFirst",
    "FirstGroups",
    "MixedGroups",
    "Pairs",
    "TrainAt",
    "Untrained",
    "leave_out",
]
