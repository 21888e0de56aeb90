"""Verdict -> named rewards."""

from assay.reward.parts import REWARDS, Outcome, PartialOutcome, SoftOverlong, Usefulness

__all__ = ["REWARDS", "Outcome", "PartialOutcome", "SoftOverlong", "Usefulness"]
