"""Truth tables of n variables as integers of 2^n bits, and the trace of a search over assignments.

Bit r of a column is the value of the variable in row r; the first variable is the most significant bit of r, so rows in
increasing order are assignments in lexicographic order.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from assay.errors import DataError


@functools.cache
def columns(count: int) -> tuple[int, ...]:
    """The truth table of each variable."""
    rows = range(1 << count)
    return tuple(sum(((r >> (count - 1 - i)) & 1) << r for r in rows) for i in range(count))


def everything(count: int) -> int:
    """The table that is true in every row."""
    return (1 << (1 << count)) - 1


def table(operator: str, left: int, right: int, full: int) -> int:
    """Of `left operator right`: | or, & and, ^ exactly one, = both or neither."""
    if operator == "|":
        return left | right
    if operator == "&":
        return left & right
    if operator == "^":
        return left ^ right
    return full ^ left ^ right


@functools.cache
def _answer(count: int, symbols: str) -> re.Pattern[str]:
    return re.compile(f"[{symbols}]{{{count}}}")


def read(text: str, count: int, symbols: str) -> str | None:
    """The answer of `count` symbols, without the spaces and commas that may stand between them; None if it is none."""
    if len(text) > 8 * count:
        return None
    bare = text.replace(" ", "").replace(",", "")
    return bare if _answer(count, symbols).fullmatch(bare) else None


def search(count: int, tables: Sequence[int], names: str, symbols: str) -> tuple[str, list[str]]:
    """Depth-first search with unit propagation: the assignment found, and the trace that led to it.

    The trace holds decisions (first open variable, first symbol first) and what each table forces after them, as name
    and symbol; `!` stands where a table is false in every row that is left, and takes back the last decision.
    """
    trace: list[str] = []
    full = everything(count)
    halves = [(full ^ column, column) for column in columns(count)]

    def descend(rows: int, values: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
        while (force := _forced(rows, values, tables, halves)) is not None:
            place, value = force
            rows &= halves[place][value]
            values = (*values[:place], value, *values[place + 1 :])
            trace.append(f"{names[place]}{symbols[value]}")
        if not all(rows & t for t in tables):
            trace.append("!")
            return None
        if None not in values:
            return values
        place = values.index(None)
        for value in (0, 1):
            trace.append(f"{names[place]}{symbols[value]}")
            found = descend(rows & halves[place][value], (*values[:place], value, *values[place + 1 :]))
            if found is not None:
                return found
        return None

    found = descend(full, (None,) * count)
    if found is None:
        raise DataError("an instance without a solution; expected at least one assignment that satisfies it.")
    return "".join(symbols[value or 0] for value in found), trace


def _forced(
    rows: int, values: Sequence[int | None], tables: Sequence[int], halves: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """A variable that one table alone determines, and its value; None if there is none or a table is refuted."""
    for t in tables:
        left = rows & t
        if not left:
            return None
        for place, value in enumerate(values):
            if value is None and not left & halves[place][0]:
                return place, 1
            if value is None and not left & halves[place][1]:
                return place, 0
    return None
