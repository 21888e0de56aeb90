"""Errors of programs count against right answers."""

from __future__ import annotations

import pytest
from in_turns import worded

from assay.methods.exploration.rstar2.resample import penalty
from assay.types import Row


def test_errors_of_programs_count_against_an_answer() -> None:
    """One of two programs failed: 1/2; none did: 0; no program at all: 1/2, as the paper has it."""
    clean = worded("[2**9]", "512", "#512", name="interpreter")
    failing = worded("[2**x]", "NameError", "[2**9]", "512", "#512", name="interpreter", failed=(0,))
    bare = worded("#512", name="interpreter")
    assert [penalty(Row(one)) for one in (clean, failing, bare)] == pytest.approx([0, 1 / 2, 1 / 2])
