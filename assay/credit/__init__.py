"""Rows -> per-token advantages -> batches."""

from assay.credit.advantage import CREDITS, GROUP_BASELINES, SHAPES, Constant, GroupRelative, LeaveOneOut, Score
from assay.credit.baselines import GreedyRelative, LengthWeighted
from assay.credit.branches import SharedMean
from assay.credit.cells import CellRelative
from assay.credit.contributing import Contributing
from assay.credit.experts import Demonstrated
from assay.credit.gae import GAE, LengthAdaptiveGAE
from assay.credit.hesitant import Hesitant
from assay.credit.pack import Lesson, advantages, by_reward, credit, pack
from assay.credit.process import ProcessLeaveOneOut
from assay.credit.trees import ProcessRelative, TreeRelative
from assay.credit.whiten import Whiten

__all__ = [
    "CREDITS",
    "GAE",
    "GROUP_BASELINES",
    "SHAPES",
    "CellRelative",
    "Constant",
    "Contributing",
    "Demonstrated",
    "GreedyRelative",
    "GroupRelative",
    "Hesitant",
    "LeaveOneOut",
    "LengthAdaptiveGAE",
    "LengthWeighted",
    "Lesson",
    "ProcessLeaveOneOut",
    "ProcessRelative",
    "Score",
    "SharedMean",
    "TreeRelative",
    "Whiten",
    "advantages",
    "by_reward",
    "credit",
    "pack",
]
