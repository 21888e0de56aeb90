"""Rows -> per-token advantages -> batches."""

from assay.credit.advantage import CREDITS, GROUP_BASELINES, SHAPES, Constant, GroupRelative, LeaveOneOut, Score
from assay.credit.gae import GAE
from assay.credit.pack import Lesson, advantages, by_reward, credit, pack
from assay.credit.whiten import Whiten

__all__ = [
    "CREDITS",
    "GAE",
    "GROUP_BASELINES",
    "SHAPES",
    "Constant",
    "GroupRelative",
    "LeaveOneOut",
    "Lesson",
    "Score",
    "Whiten",
    "advantages",
    "by_reward",
    "credit",
    "pack",
]
