"""Curation: which rows train."""

from assay.curate.pairs import Pairs, TrainAt
from assay.curate.parts import BandFirst, FirstGroups, MixedGroups, StatisticsOnly, leave_out
from assay.curate.players import Untrained

__all__ = [
    "BandFirst",
    "FirstGroups",
    "MixedGroups",
    "Pairs",
    "StatisticsOnly",
    "TrainAt",
    "Untrained",
    "leave_out",
]
