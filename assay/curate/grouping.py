"""Who is compared with whom: the groups of a step's rows, and whether there is anything to compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.types import Row

Measure = Literal["accuracy", "reward"]
MISMATCHED = "mismatched"  # the tag of answers under another question, which are scored and not trained


def groups(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Indices of the rows of each group, in order of first appearance."""
    members: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        members.setdefault(row.group, []).append(index)
    return members


def measure(row: Row, by: Measure) -> float:
    """The row's accuracy (raw, before any shaping) or its reward."""
    if by == "accuracy":
        return float(row.episode.right)
    return row.reward or 0.0


def spread(values: Sequence[float]) -> bool:
    """Whether values differ by more than rounding: max - min > 1e-6 max(1, max|v|)."""
    return bool(values) and max(values) - min(values) > 1e-6 * max(1.0, *(abs(v) for v in values))
