"""Verdict -> named rewards."""

from assay.reward.parts import REWARDS, Graded, Outcome, SoftOverlong

__all__ = ["REWARDS", "Graded", "Outcome", "SoftOverlong"]
