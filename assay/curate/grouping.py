"""By which measure the rows of a group are compared, and whether they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.types import Row

Measure = Literal["accuracy", "reward"]
MISMATCHED = "mismatched"  # the tag of answers paired with another question: scored, not trained


def measure(row: Row, by: Measure) -> float:
    """The accuracy of a row, which is 1 for a right answer and 0 otherwise, or its reward."""
    if by == "accuracy":
        return float(row.right)
    return row.reward or 0.0


def spread(values: Sequence[float]) -> bool:
    """Whether the values differ by more than rounding: max - min > 1e-6 max(1, max|v|)."""
    return bool(values) and max(values) - min(values) > 1e-6 * max(1.0, *(abs(v) for v in values))
