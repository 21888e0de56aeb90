"""Verdict -> named rewards."""

from assay.reward.lengths import Adherence, Shortness, SoftOverlong, StopProperly
from assay.reward.parts import (
    REWARDS,
    Formatted,
    Graded,
    Learnability,
    Outcome,
    PartialOutcome,
    Scored,
    Usefulness,
)
from assay.reward.preference import ModelScore

__all__ = [
    "REWARDS",
    "Adherence",
    "Formatted",
    "Graded",
    "Learnability",
    "ModelScore",
    "Outcome",
    "PartialOutcome",
    "Scored",
    "Shortness",
    "SoftOverlong",
    "StopProperly",
    "Usefulness",
]
