"""Verdict -> named rewards."""

from assay.reward.parts import REWARDS, Graded, Learnability, Outcome, PartialOutcome, Scored, SoftOverlong, Usefulness

__all__ = ["REWARDS", "Graded", "Learnability", "Outcome", "PartialOutcome", "Scored", "SoftOverlong", "Usefulness"]
