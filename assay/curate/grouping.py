"""Groups: which rows are compared with each other, by which measure, and whether they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.types import Row

Measure = Literal["accuracy", "reward"]
MISMATCHED = "mismatched"  # the tag of answers paired with another question: scored, not trained


def groups(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Group -> the indices of its rows. Groups are in the order of their first rows."""
    members: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        members.setdefault(row.group, []).append(index)
    return members


def measure(row: Row, by: Measure) -> float:
    """The accuracy of a row, which is 1 for a right answer and 0 otherwise, or its reward."""
    if by == "accuracy":
        return float(row.episode.right)
    return row.reward or 0.0


def spread(values: Sequence[float]) -> bool:
    """Whether the values differ by more than rounding: max - min > 1e-6 max(1, max|v|)."""
    return bool(values) and max(values) - min(values) > 1e-6 * max(1.0, *(abs(v) for v in values))
