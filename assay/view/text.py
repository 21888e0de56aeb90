"""Estimates, chances and tables as plain text: in one form wherever a person reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ABSENT = "-"
LARGE = 1000  # from here on digits behind the point say nothing


def score(estimate: Mapping[str, Any] | None) -> str:
    """An estimate with its interval: `0.371 [0.352, 0.390]`."""
    return _written(estimate, ".3f")


def change(estimate: Mapping[str, Any] | None) -> str:
    """A difference with its interval, all with signs: `+0.041 [+0.012, +0.070]`, or `+375,960 [+216,861, +535,060]`."""
    return _written(estimate, "+,.0f" if estimate and abs(estimate["mean"]) >= LARGE else "+.3f")


def number(value: float) -> str:
    """A measure of any size: `0.2505`, `375,960`."""
    return f"{value:,.0f}" if abs(value) >= LARGE else f"{value:.4g}"


def bounds(estimate: Mapping[str, Any], form: str = ".3f") -> str:
    """The interval alone: `[0.352, 0.390]`; empty where it is not known."""
    if estimate.get("low") is None or estimate.get("high") is None:
        return ""
    return f"[{estimate['low']:{form}}, {estimate['high']:{form}}]"


def chance(p: float | None) -> str:
    """A p-value: `0.031`."""
    return ABSENT if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table whose columns are as wide as their widest cell."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _written(estimate: Mapping[str, Any] | None, form: str) -> str:
    return ABSENT if not estimate else f"{estimate['mean']:{form}} {bounds(estimate, form)}".rstrip()
