"""Rows -> per-token advantages -> batches."""

from assay.credit.advantage import CREDITS, GROUP_BASELINES, SHAPES, Constant, GroupRelative, LeaveOneOut, Score
from assay.credit.branches import SharedMean
from assay.credit.cells import CellRelative
from assay.credit.pack import Lesson, advantages, by_reward, credit, pack
from assay.credit.trees import ProcessRelative, TreeRelative

__all__ = [
    "CREDITS",
    "GROUP_BASELINES",
    "SHAPES",
    "CellRelative",
    "Constant",
    "GroupRelative",
    "LeaveOneOut",
    "Lesson",
    "ProcessRelative",
    "Score",
    "SharedMean",
    "TreeRelative",
    "advantages",
    "by_reward",
    "credit",
    "pack",
]
