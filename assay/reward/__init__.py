"""Verdict -> named rewards."""

from assay.reward.parts import REWARDS, Graded, Learnability, Outcome, SoftOverlong

__all__ = ["REWARDS", "Graded", "Learnability", "Outcome", "SoftOverlong"]
