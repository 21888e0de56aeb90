"""Verdict -> named rewards."""

from assay.reward.parts import REWARDS, Graded, Learnability, Outcome, PartialOutcome, SoftOverlong, Usefulness

__all__ = ["REWARDS", "Graded", "Learnability", "Outcome", "PartialOutcome", "SoftOverlong", "Usefulness"]
