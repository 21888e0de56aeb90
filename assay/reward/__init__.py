"""Verdict -> named rewards."""

from assay.reward.lengths import SoftOverlong
from assay.reward.parts import Graded, Outcome
from assay.reward.scored import Scored

__all__ = [
    "Graded",
    "Outcome",
    "Scored",
    "SoftOverlong",
]
