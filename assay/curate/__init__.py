"""Curation: which rows train."""

from assay.curate.agreed import Agreed
from assay.curate.band import Band
from assay.curate.idle import NoTraining
from assay.curate.own_tokens import OwnTokens
from assay.curate.pairs import Pairs, TrainAt
from assay.curate.parts import BandFirst, FirstGroups, MixedGroups, StatisticsOnly, leave_out
from assay.curate.players import Untrained
from assay.curate.ranked import RankedPairs
from assay.curate.tags import WithoutTag
from assay.curate.unsure_tokens import UnsureTokens
from assay.curate.whole import WholeAnswers

__all__ = [
    "Agreed",
    "Band",
    "BandFirst",
    "FirstGroups",
    "MixedGroups",
    "NoTraining",
    "OwnTokens",
    "Pairs",
    "RankedPairs",
    "StatisticsOnly",
    "TrainAt",
    "UnsureTokens",
    "Untrained",
    "WholeAnswers",
    "WithoutTag",
    "leave_out",
]
