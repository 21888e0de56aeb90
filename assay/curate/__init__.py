"""Curation: which rows train."""

from assay.curate.agreed import Agreed, MostAgreed
from assay.curate.pairs import Pairs, TrainAt
from assay.curate.parts import BandFirst, FirstGroups, MixedGroups, StatisticsOnly, leave_out
from assay.curate.players import Untrained

__all__ = [
    "Agreed",
    "BandFirst",
    "FirstGroups",
    "MixedGroups",
    "MostAgreed",
    "Pairs",
    "StatisticsOnly",
    "TrainAt",
    "Untrained",
    "leave_out",
]
