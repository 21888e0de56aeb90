"""Rows -> per-token advantages -> batches."""

from assay.credit.advantage import CREDITS, GROUP_BASELINES, Constant, GroupRelative, LeaveOneOut, Score
from assay.credit.pack import advantages, credit, pack

__all__ = [
    "CREDITS",
    "GROUP_BASELINES",
    "Constant",
    "GroupRelative",
    "LeaveOneOut",
    "Score",
    "advantages",
    "credit",
    "pack",
]
