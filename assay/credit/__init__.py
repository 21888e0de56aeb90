"""Rows -> per-token advantages -> batches."""

from assay.credit.advantage import CREDITS, GROUP_BASELINES, SHAPES, Constant, GroupRelative, LeaveOneOut, Score
from assay.credit.branches import SharedMean
from assay.credit.cells import CellRelative
from assay.credit.gae import GAE
from assay.credit.hesitant import Hesitant
from assay.credit.pack import Lesson, advantages, by_reward, credit, pack
from assay.credit.trees import ProcessRelative, TreeRelative
from assay.credit.whiten import Whiten

__all__ = [
    "CREDITS",
    "GAE",
    "GROUP_BASELINES",
    "SHAPES",
    "CellRelative",
    "Constant",
    "GroupRelative",
    "Hesitant",
    "LeaveOneOut",
    "Lesson",
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
