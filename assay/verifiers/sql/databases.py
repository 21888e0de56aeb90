"""Databases for a question: its tables, filled with rows that tell queries apart.

Half of all cells are taken from the constants of the gold query and their neighbours, because `>` and `>=`, or 5 and 6,
differ on such rows alone. Cells repeat, so that duplicates count, and some are NULL where a column allows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.rng import Key

SIZES = (
    1.0,
    0.0,
    4.0,
    0.0,
    0.15,
    0.0,
)  # of databases in turn, as multiples: one row tells conditions apart, many tell totals
NULLS = 0.1  # share of NULL in a column that allows it
NEAR = 0.5  # share of cells that are a constant of the query, or next to one
NUMBER = r"(?<![\w.'])\d{1,9}(?:\.\d{1,6})?(?![\w.'])"
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
TYPES = ("integer", "real", "text")


class BadSchema(ValueError):
    """The tables of a question are not described as they must be; the message says how."""


@dataclass(frozen=True)
class Column:
    """A column and the values that its rows take: `Column("age", "integer", (18, 90))`, a range for numbers."""

    name: str
    kind: str  # integer, real or text
    values: tuple[Any, ...]  # of numbers the least and the largest; of text the words
    null: bool = False


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database, and how many rows it has.

    DatabaseTable("people", (Column("age", "integer", (18, 90)),), rows=(8, 14))
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[int, int] = (8, 16)


def tables_of(described: Any) -> tuple[DatabaseTable, ...]:
    """The tables of a question from plain data. Raises BadSchema.

    tables_of([{"name": "t", "columns": [{"name": "a", "kind": "integer", "values": [0, 9]}]}])
    """
    if not isinstance(described, Sequence) or not described:
        raise BadSchema("expected a list of tables")
    try:
        tables = tuple(
            DatabaseTable(
                table["name"],
                tuple(Column(c["name"], c["kind"], tuple(c["values"]), bool(c.get("null"))) for c in table["columns"]),
                (int(table.get("rows", (8, 16))[0]), int(table.get("rows", (8, 16))[1])),
            )
            for table in described
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BadSchema(f"a table is described wrongly: {type(error).__name__} {error}") from None
    for table in tables:
        for name in (table.name, *(column.name for column in table.columns)):
            if not isinstance(name, str) or NAME.fullmatch(name) is None:
                raise BadSchema(f"a name is {str(name)[:40]!r}: expected small letters, digits and _")
        if not table.columns or not 0 < table.rows[0] <= table.rows[1] <= 1000:
            raise BadSchema(f"the table {table.name} has no columns, or not between 1 and 1000 rows")
        for column in table.columns:
            if column.kind not in TYPES or not column.values or (column.kind != "text" and len(column.values) != 2):
                raise BadSchema(f"{table.name}.{column.name}: expected one of {', '.join(TYPES)}, and its values")
    return tables


def fill(tables: Sequence[DatabaseTable], query: str, number: int) -> list[dict[str, Any]]:
    """The database of this number for a gold query, as the external takes it."""
    generator = Key("sql", query, number).generator()
    constants = _constants(query)
    filled = []
    for table in tables:
        count = max(1, round(SIZES[number % len(SIZES)] * int(generator.integers(table.rows[0], table.rows[1] + 1))))
        columns = [_column(column, count, constants, generator) for column in table.columns]
        rows = [list(row) for row in zip(*columns, strict=True)]
        filled.append(
            {
                "name": table.name,
                "columns": [[column.name, column.kind] for column in table.columns],
                "rows": rows,
            }
        )
    return filled


def turned(database: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same database with its rows in another order, for a query whose result must not depend on it.

    Rows are inserted from the last to the first. A key has an order of its own, whatever was inserted first, so
    tables are made without their keys. If that could change the result of a query, they keep their keys, and rows
    without a stated order are found from the last to the first.
    """
    if all("create" not in table or table["plain"] for table in database):
        without = [{name: part for name, part in table.items() if name != "create"} for table in database]
        return [{**table, "rows": table["rows"][::-1], "rather": "unindexed"} for table in without]
    return [{**table, "rather": "reversed"} for table in database]


def _constants(query: str) -> dict[str, list[Any]]:
    """The texts and numbers of a query, and by column the numbers that it is compared with."""
    texts = [text.replace("''", "'") for text in re.findall(r"'((?:[^']|'')*)'", query)]
    found: dict[str, list[Any]] = {"'": texts, "0": [float(number) for number in re.findall(NUMBER, query)]}
    for column, number in re.findall(rf"([a-z][a-z0-9_]*)\)?\s*[<>=!]+\s*({NUMBER})", query.lower()):
        found.setdefault(column, []).append(float(number))
    return found


def _column(
    column: Column, count: int, constants: Mapping[str, list[Any]], generator: np.random.Generator
) -> list[Any]:
    draws = generator.random((count, 2)).tolist()
    if column.kind == "text":
        values = [str(value) for value in column.values]
        near: list[Any] = [text for text in constants["'"] if text in values]
        cells: list[Any] = [_one(near if near and pick < NEAR else values, at) for pick, at in draws]
    else:
        low, high = float(column.values[0]), float(column.values[1])
        numbers = constants.get(column.name, constants["0"])
        near = [n + step for n in numbers for step in (-1, 0, 0, 1) if low <= n + step <= high]
        cells = [_one(near, at) if near and pick < NEAR else low + at * (high - low) for pick, at in draws]
        cells = [round(cell) if column.kind == "integer" else round(cell, 2) for cell in cells]
    empty = generator.random(count) < NULLS if column.null else [False] * count
    return [None if nothing else cell for cell, nothing in zip(cells, empty, strict=True)]


def _one(values: Sequence[Any], at: float) -> Any:
    return values[int(at * len(values))]
