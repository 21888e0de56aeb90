"""Rows -> per-token advantages -> batches."""

from assay.credit.advantage import CREDITS, GROUP_BASELINES, SHAPES, Constant, GroupRelative, LeaveOneOut, Score
from assay.credit.branches import SharedMean
from assay.credit.cells import CellRelative
from assay.credit.pack import Lesson, advantages, by_reward, credit, pack

__all__ = [
    "CREDITS",
    "GROUP_BASELINES",
    "SHAPES",
    "CellRelative",
    "Constant",
    "GroupRelative",
    "LeaveOneOut",
    "Lesson",
    "Score",
    "SharedMean",
    "advantages",
    "by_reward",
    "credit",
    "pack",
]
