"""Credit: from rows to an advantage for each token, and from these rows to batches."""

from assay.credit.advantage import Constant, GroupRelative, LeaveOneOut, Score
from assay.credit.branches import SharedMean
from assay.credit.gae import GAE
from assay.credit.pack import BatchRule, advantages, by_reward, credit, pack
from assay.credit.returns import ReturnToGo, SameTurn
from assay.credit.steps import StepValues
from assay.credit.whiten import Whiten

__all__ = [
    "GAE",
    "BatchRule",
    "Constant",
    "GroupRelative",
    "LeaveOneOut",
    "ReturnToGo",
    "SameTurn",
    "Score",
    "SharedMean",
    "StepValues",
    "Whiten",
    "advantages",
    "by_reward",
    "credit",
    "pack",
]
