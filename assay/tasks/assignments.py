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
    """Depth-first search in lexicographic order: the assignment found, and each decision as a name and a symbol.

    A decision after which one of the tables is false in every row that is left is refuted: marked `!`.
    """
    trace: list[str] = []
    full = everything(count)
    rows_of = [(full ^ column, column) for column in columns(count)]

    def descend(place: int, rows: int, chosen: str) -> str | None:
        if place == count:
            return chosen
        for value, symbol in enumerate(symbols):
            left = rows & rows_of[place][value]
            trace.append(f"{names[place]}{symbol}")
            if not all(left & t for t in tables):
                trace[-1] += "!"
                continue
            found = descend(place + 1, left, chosen + symbol)
            if found is not None:
                return found
        return None

    found = descend(0, full, "")
    if found is None:
        raise DataError("an instance without a solution; expected at least one assignment that satisfies it.")
    return found, trace
