"""Rewards: what an answer is worth, from its verdict, its length or a function of the user."""

from assay.reward.lengths import SoftOverlong
from assay.reward.parts import Graded, Outcome
from assay.reward.scored import Scored

__all__ = [
    "Graded",
    "Outcome",
    "Scored",
    "SoftOverlong",
]
