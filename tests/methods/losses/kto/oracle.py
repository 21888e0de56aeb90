"""Preferences are made of answers that are not paired."""

from assay.methods.losses.kto.mismatch import Mismatch
from assay.part import bind

PREFERRED = {"kto": bind(Mismatch())}
TESTED = {"kto": "test_kto"}
