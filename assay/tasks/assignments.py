"""Truth tables of n variables, and a search for an assignment that satisfies several tables.

A truth table is an integer of 2^n bits; bit r is its value in row r. The first variable is
the most significant bit of r, so increasing rows are assignments in lexicographic order.
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
    """The truth table of `left operator right`: | or, & and, ^ exactly one, = both or neither."""
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
    """The answer of `count` symbols, without spaces and commas between them; None if the text is no such answer."""
    if len(text) > 8 * count:
        return None
    bare = text.replace(" ", "").replace(",", "")
    return bare if _answer(count, symbols).fullmatch(bare) else None


def search(count: int, tables: Sequence[int], names: str, symbols: str) -> tuple[str, list[str]]:
    """Depth-first search with unit propagation: (the assignment that it finds, its trace).

    The trace lists decisions (the first open variable, its first symbol first) and the
    values that a table then forces, each as name and symbol. `!` marks a contradiction,
    a table that is false in every row left; it undoes the last decision.
    """
    trace: list[str] = []
    full = everything(count)
    halves = [(full ^ column, column) for column in columns(count)]

    def descend(rows: int, values: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
        while (force := _forced(rows, values, tables, halves)) is not None:
            variable, value = force
            rows &= halves[variable][value]
            values = (*values[:variable], value, *values[variable + 1 :])
            trace.append(f"{names[variable]}{symbols[value]}")
        if not all(rows & t for t in tables):
            trace.append("!")
            return None
        if None not in values:
            return values
        variable = values.index(None)
        for value in (0, 1):
            trace.append(f"{names[variable]}{symbols[value]}")
            assignment = descend(rows & halves[variable][value], (*values[:variable], value, *values[variable + 1 :]))
            if assignment is not None:
                return assignment
        return None

    assignment = descend(full, (None,) * count)
    if assignment is None:
        raise DataError("the instance has no solution; expected at least one assignment that satisfies all tables.")
    return "".join(symbols[value or 0] for value in assignment), trace


def _forced(
    rows: int, values: Sequence[int | None], tables: Sequence[int], halves: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """(a variable, its value), where one table alone forces it; None if no
    table does, or if a table is contradicted.
    """
    for t in tables:
        left = rows & t
        if not left:
            return None
        for variable, value in enumerate(values):
            if value is None and not left & halves[variable][0]:
                return variable, 1
            if value is None and not left & halves[variable][1]:
                return variable, 0
    return None
