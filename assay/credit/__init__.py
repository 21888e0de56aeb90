"""Rows -> per-token advantages -> batches."""

from assay.credit.advantage import (
    CREDITS,
    GROUP_BASELINES,
    SHAPES,
    Constant,
    GroupRelative,
    LeaveOneOut,
    MeanNormalised,
    Score,
)
from assay.credit.baselines import GreedyRelative, LengthWeighted
from assay.credit.branches import SharedMean
from assay.credit.cells import CellRelative
from assay.credit.certainty import ByCertainty
from assay.credit.components import PerReward
from assay.credit.contributing import Contributing
from assay.credit.experts import Demonstrated
from assay.credit.gae import GAE, LengthAdaptiveGAE
from assay.credit.pack import Lesson, advantages, by_reward, credit, pack
from assay.credit.passk import PassK
from assay.credit.positions import TokenBaseline
from assay.credit.process import ProcessLeaveOneOut
from assay.credit.tracked import TrackedValue
from assay.credit.trees import ProcessRelative, TreeRelative
from assay.credit.verdicts import Signed
from assay.credit.virtual import VirtualBest
from assay.credit.whiten import Whiten

__all__ = [
    "CREDITS",
    "GAE",
    "GROUP_BASELINES",
    "SHAPES",
    "ByCertainty",
    "CellRelative",
    "Constant",
    "Contributing",
    "Demonstrated",
    "GreedyRelative",
    "GroupRelative",
    "LeaveOneOut",
    "LengthAdaptiveGAE",
    "LengthWeighted",
    "Lesson",
    "MeanNormalised",
    "PassK",
    "PerReward",
    "ProcessLeaveOneOut",
    "ProcessRelative",
    "Score",
    "SharedMean",
    "Signed",
    "TokenBaseline",
    "TrackedValue",
    "TreeRelative",
    "VirtualBest",
    "Whiten",
    "advantages",
    "by_reward",
    "credit",
    "pack",
]
