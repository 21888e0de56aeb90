"""Measures of a base and of what was trained from it: `assay analyse`. Each is a module of its own."""

from __future__ import annotations

import importlib

from assay.errors import unknown
from assay.lab.analyses.measure import Measure

_HOME = {
    "rlvr-boundary": "boundary:RLVR_BOUNDARY",
    "support-dynamics": "support:SUPPORT_DYNAMICS",
    "math-beyond": "beyond:MATH_BEYOND",
    "passk-decomp": "decompose:PASSK_DECOMP",
    "sharpen-discover": "sharpen:SHARPEN_DISCOVER",
    "explore-metrics": "explore:EXPLORE_METRICS",
    "entropy-exchange": "entropy_exchange:ENTROPY_EXCHANGE",
    "contamination": "contamination:CONTAMINATION",
    "seq-shortcuts": "shortcuts:SEQ_SHORTCUTS",
    "weight-change": "weight_change:WEIGHT_CHANGE",
    "off-principal": "off_principal:OFF_PRINCIPAL",
    "rank1-dynamics": "rank1_dynamics:RANK1_DYNAMICS",
}
"""Name -> the module and the name of the measure there, in the order of a page."""

NAMES = tuple(_HOME)


def measure(name: str) -> Measure:
    """The measure of this name."""
    if name not in _HOME:
        raise unknown("measure", name, _HOME, "assay list measures")
    module, attribute = _HOME[name].split(":")
    return getattr(importlib.import_module(f"assay.lab.analyses.{module}"), attribute)
