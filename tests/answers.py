"""Answers as if a model had given them: for tests of what judges them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.types import Episode, Finish, Problem, Request, Segment


def answered(problem: Problem, text: str, *, finish: Finish = "stop", sample: int = 0) -> Episode:
    """Of one token a character."""
    ids = np.arange(1, len(text) + 1, dtype=np.int32)
    segment = Segment(ids, np.zeros(len(text), np.int8))
    return Episode(Request(problem, np.zeros(1, np.int32), problem.id, 9, sample=sample), (segment,), finish, text)


def data_row(number: int, prompt: str | tuple[Mapping[str, str], ...] = "What?", **columns: Any) -> Problem:
    """A row of a file, as a task of data makes it."""
    spec = {"row": number, "gold": columns.get("answer"), "columns": columns}
    return Problem("data:/there/rows.jsonl", prompt, spec, f"row {number}", provenance="data", wording="natural")
