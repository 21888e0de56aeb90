"""Databases that keep the keys of their tables, which are stated in SQL.

Rows are drawn table by table, each table behind the tables that it refers to. References are copied from rows that are
there, and some are NULL where they may be. SQLite then takes a row or refuses it, by the keys and checks that were
declared, and a refused row is drawn again. So a database keeps every rule that SQLite enforces, whatever a check says.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import Any

import numpy as np

from assay.externals.sqlite import closed_functions, quoted
from assay.rng import Key
from assay.verifiers.sql.cells import Cells
from assay.verifiers.sql.constants import Constants, constants_of, dated, joined, words_of
from assay.verifiers.sql.databases import NULLS, SIZES
from assay.verifiers.sql.schemas import KeyedTable, Reference, Schema

ROWS = (8, 16)
ASIDE = 3  # rows of a table that the query neither reads nor refers to
TRIES = 40  # of a row until the table is as full as its keys allow
SKEWS = (1.0, 1.0, 3.0)  # how unevenly rows refer: in some databases few rows have most of the references

Row = dict[str, Any]


def fill_keyed(schema: Schema, query: str, number: int) -> list[dict[str, Any]]:
    """The database of this number for a gold query, as the external takes it.

    A table is empty if no row was found that keeps its constraints.
    """
    generator = Key("sql", "keys", query, number).generator()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        closed_functions(base, [])
        filling = _Filling(base, schema, query, number, generator)
        for table in schema.tables:
            filling.fill(table)
        for name, reference in sorted(schema.late, key=str):
            filling.fill_late(name, reference)
        return [filling.described(table) for table in schema.tables]


class _Filling:
    """One database while it is filled."""

    def __init__(
        self, base: sqlite3.Connection, schema: Schema, query: str, number: int, generator: np.random.Generator
    ) -> None:
        self.base, self.schema, self.query, self.generator = base, schema, query, generator
        self.size, self.skew = SIZES[number % len(SIZES)], SKEWS[number % len(SKEWS)]
        self.rows: dict[str, list[Row]] = {}
        self.read = _needed(schema, query)
        self.dates = dated(query, schema.columns())

    def fill(self, table: KeyedTable) -> None:
        """Makes a table and its rows, as many as its keys and checks allow."""
        for sql in (table.create, *table.indices):
            self.base.execute(sql)
        count = max(1, round(self.size * int(self.generator.integers(ROWS[0], ROWS[1] + 1))))
        count = count if table.name in self.read else min(count, ASIDE)
        cells = self._cells(table, count)
        self.rows[table.name] = []  # a reference of the table to itself finds the rows that are there
        for _ in range(count):
            if not any(self._added(table, cells) for _ in range(TRIES)):
                break
        self.rows[table.name] = self._stored(table)

    def _added(self, table: KeyedTable, cells: dict[str, Cells]) -> bool:
        """Draws a row; whether its references have something to refer to, and SQLite takes it."""
        row = self._drawn(table, cells)
        taken = row is not None and self._taken(table, row)
        if row is not None and taken:
            self.rows[table.name].append(row)
        return taken

    def _cells(self, table: KeyedTable, count: int) -> dict[str, Cells]:
        constants = _constants(self.schema, self.query, table)
        alone = {columns[0] for columns in table.unique if len(columns) == 1}
        return {
            column.name: Cells(
                column,
                constants.near(column.name),
                self.generator,
                own=column.name.lower() in constants.of,
                unique=column.name in alone,
                dates=column.name.lower() in self.dates,
                count=count,
            )
            for column in table.columns
        }

    def _drawn(self, table: KeyedTable, cells: dict[str, Cells]) -> Row | None:
        """A row; None if a reference that may not be NULL has nothing to refer to."""
        row: Row = {}
        own = [reference for reference in table.references if reference.table == table.name]
        for reference in table.references:
            if (table.name, reference) in self.schema.late:
                row |= {name: None for name in reference.columns if name not in row}
            elif reference not in own and not self._refer(table, reference, row):
                return None
        later = {name for reference in own for name in reference.columns} - {
            name for reference in own for name in reference.of
        }
        for name, drawn in cells.items():
            if name not in row and name not in later:
                row[name] = self._one(table, name, drawn)
        for reference in own:
            if not self._refer(table, reference, row) and not _refer_to_itself(reference, row):
                return None
        return row | {name: self._one(table, name, drawn) for name, drawn in cells.items() if name not in row}

    def _one(self, table: KeyedTable, name: str, drawn: Cells) -> Any:
        empty = table.column(name).null and self.generator.random() < NULLS
        return None if empty else drawn.one()

    def _refer(self, table: KeyedTable, one: Reference, row: Row) -> bool:
        """Fills the columns of a reference from a row that it can refer to, or with NULL where that is allowed."""
        open_columns = [name for name in one.columns if name not in row]
        may_be_null = [name for name in open_columns if table.column(name).null]
        if any(name in row and row[name] is None for name in one.columns):
            return True  # a reference with a NULL refers to nothing, whatever its other columns are
        pairs = list(zip(one.columns, one.of, strict=True))
        parents = [
            parent
            for parent in self.rows[one.table]
            if all(parent[of] is not None and row.get(name, parent[of]) == parent[of] for name, of in pairs)
        ]
        if may_be_null and (not parents or self.generator.random() < NULLS):
            row |= dict.fromkeys(may_be_null)
            return True
        if not parents:
            return False
        parent = parents[int(self.generator.random() ** self.skew * len(parents))]
        row |= {name: parent[of] for name, of in pairs}
        return True

    def _taken(self, table: KeyedTable, row: Row) -> bool:
        """Inserts a row; False if SQLite refuses it, whose word on keys and checks is the last."""
        marks, columns = ", ".join("?" * len(row)), ", ".join(map(quoted, row))
        try:
            self.base.execute(f"insert into {quoted(table.name)} ({columns}) values ({marks})", list(row.values()))
        except sqlite3.Error:
            return False
        return True

    def _stored(self, table: KeyedTable) -> list[Row]:
        """The rows as SQLite keeps them, by the affinity of each column."""
        names = [column.name for column in table.columns]
        found = self.base.execute(f"select {', '.join(map(quoted, names))} from {quoted(table.name)}")
        return [dict(zip(names, cells, strict=True)) for cells in found]

    def fill_late(self, name: str, one: Reference) -> None:
        """Fills a reference that closes a circle, which was NULL until now; a row that refuses it keeps its NULL."""
        table = next(table for table in self.schema.tables if table.name == name)
        shared = {column for other in table.references if other != one for column in other.columns}
        parents = [row for row in self.rows[one.table] if all(row[of] is not None for of in one.of)]
        if shared.intersection(one.columns) or not parents:
            return
        key = self._identity(table)
        listed = self.base.execute(f"select {', '.join(map(quoted, key))} from {quoted(name)}").fetchall()
        where = " and ".join(f"{quoted(column)} = ?" for column in key)
        sets = ", ".join(f"{quoted(column)} = ?" for column in one.columns)
        for values in listed:
            if self.generator.random() < NULLS:
                continue
            parent = parents[int(self.generator.random() ** self.skew * len(parents))]
            cells = [parent[of] for of in one.of]
            with suppress(sqlite3.Error):
                self.base.execute(f"update {quoted(name)} set {sets} where {where}", [*cells, *values])
        self.rows[name] = self._stored(table)

    def _identity(self, table: KeyedTable) -> tuple[str, ...]:
        """The columns by which one row is found: SQLite's own number of it, or the key of a table that has none."""
        try:
            self.base.execute(f"select _rowid_ from {quoted(table.name)}")
        except sqlite3.OperationalError:
            return table.unique[0]
        return ("_rowid_",)

    def described(self, table: KeyedTable) -> dict[str, Any]:
        """The table as the external takes it."""
        return {
            "name": table.name,
            "columns": [[column.name, column.kind] for column in table.columns],
            "create": [table.create, *table.indices],
            "unique": [list(columns) for columns in table.unique],
            "rows": [list(row.values()) for row in self.rows[table.name]],
            "plain": table.plain,
        }


def _refer_to_itself(one: Reference, row: Row) -> bool:
    """Lets the first row of a table refer to itself, where a reference to its own table may not be NULL."""
    if any(of not in row or row.get(name, row[of]) != row[of] for name, of in zip(one.columns, one.of, strict=True)):
        return False
    row |= {name: row[of] for name, of in zip(one.columns, one.of, strict=True)}
    return True


def _needed(schema: Schema, query: str) -> frozenset[str]:
    """The tables that a query names, and all that these refer to."""
    words = words_of(query)
    found: list[str] = []
    waiting: list[str] = [table.name for table in schema.tables if table.name.lower() in words]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.append(name)
            waiting += [one.table for table in schema.tables if table.name == name for one in table.references]
    return frozenset(found)


def _constants(schema: Schema, query: str, table: KeyedTable) -> Constants:
    """The constants of the query and, by column, those of the table's own checks."""
    said, checked = constants_of(query, schema.columns()), constants_of(table.create, schema.columns())
    return joined(said, Constants(checked.of))
