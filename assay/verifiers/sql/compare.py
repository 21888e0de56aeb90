"""When two results of queries are equal.

Rows are a bag, or a sequence if the gold query orders them. Names of columns do not count, their order does. 1 and 1.0
are equal, 1 and '1' are not. NULL equals NULL and nothing else. Numbers that are not whole are equal within 1e-6,
relative.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

TOLERANCE = 1e-6
WHOLE = 1e-9  # a float this close to a whole number, relative, is that number

Rows = Sequence[Sequence[Any]]
Cell = tuple[str, Any]


def same(gold: Rows, found: Rows, *, ordered: bool) -> bool:
    """Whether two results are equal: `same([[1, "a"], [2, "b"]], [[2.0, "b"], [1, "a"]], ordered=False)`."""
    if len(gold) != len(found) or {len(row) for row in gold} != {len(row) for row in found}:
        return False
    mine, theirs = [_cells(row) for row in gold], [_cells(row) for row in found]
    if ordered:
        return all(map(_equal, mine, theirs))
    groups: dict[tuple[Cell, ...], tuple[list[list[Cell]], list[list[Cell]]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((mine, theirs)):
        for row in rows:
            groups[tuple(("float", None) if kind == "float" else (kind, value) for kind, value in row)][side].append(
                row
            )
    return all(
        len(a) == len(b) and all(map(_equal, sorted(a, key=_floats), sorted(b, key=_floats)))
        for a, b in groups.values()
    )


def _cells(row: Sequence[Any]) -> list[Cell]:
    return [_cell(value) for value in row]


def _cell(value: Any) -> Cell:
    if value is None:
        return ("null", None)
    if isinstance(value, dict):
        return ("blob", value.get("blob"))
    if isinstance(value, str):
        return ("text", value)
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return ("text", f"<{value}>")
        if abs(value - round(value)) > WHOLE * max(1.0, abs(value)):
            return ("float", value)
    return ("int", round(value))


def _floats(row: Sequence[Cell]) -> list[float]:
    return [value for kind, value in row if kind == "float"]


def _equal(a: Sequence[Cell], b: Sequence[Cell]) -> bool:
    return all(
        one == other or (one[0] == other[0] == "float" and math.isclose(one[1], other[1], rel_tol=TOLERANCE))
        for one, other in zip(a, b, strict=True)
    )
