"""Verdict -> named rewards."""

from assay.reward.parts import REWARDS, Outcome, SoftOverlong

__all__ = ["REWARDS", "Outcome", "SoftOverlong"]
