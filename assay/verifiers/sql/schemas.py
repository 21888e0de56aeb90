"""Tables that are stated in SQL: `create table` with types, keys and checks, as data sets of queries have them.

SQLite itself reads the text, so that every dialect of it that SQLite takes is read as SQLite takes it: quoted names,
composite keys, constraints of columns and of tables. It may do nothing else: an authoriser lets tables and indices be
made, and rows be inserted. Such rows are examples: values are drawn from them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from assay.externals.sqlite import FORBIDDEN, closed_functions, quoted
from assay.verifiers.sql.constants import LARGEST, words_of
from assay.verifiers.sql.databases import BadSchema

LONGEST = 1 << 20  # characters
MOST_TABLES, MOST_COLUMNS = 100, 200
INSTRUCTIONS = 20_000_000  # of SQLite, to read the text
EXAMPLES = 200  # rows of a table that values are drawn from
_MADE = frozenset(
    (
        *(sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE),
        *(sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_REINDEX),
    )
)


@dataclass(frozen=True)
class KeyedColumn:
    """A column as it was declared: `KeyedColumn("age", "integer", "INT")`."""

    name: str
    kind: str  # integer, real, text, numeric or blob: SQLite's affinity of the declared type
    declared: str = ""
    null: bool = True
    examples: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Reference:
    """A foreign key: `Reference(("singer_id",), "singer", ("id",))`."""

    columns: tuple[str, ...]
    table: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class KeyedTable:
    """A table with its keys.

    Example:
        schema_of("create table t (a int primary key, b text unique)").tables[0].unique  # (("a",), ("b",))
    """

    name: str
    create: str  # as SQLite keeps it
    indices: tuple[str, ...]  # the statements that make its unique indices
    columns: tuple[KeyedColumn, ...]
    unique: tuple[tuple[str, ...], ...]
    references: tuple[Reference, ...]
    plain: bool = True  # but for its keys, the names and kinds of its columns say all about it

    def column(self, name: str) -> KeyedColumn:
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True)
class Schema:
    """Tables, each behind the tables that it refers to, and the references that close a circle, which are filled last.

    Example:
        [table.name for table in schema_of("create table t (a int)").tables]  # ["t"]
    """

    tables: tuple[KeyedTable, ...]
    late: frozenset[tuple[str, Reference]] = frozenset()

    def columns(self) -> frozenset[str]:
        return frozenset(column.name for table in self.tables for column in table.columns)


def schema_of(text: str) -> Schema:
    """The tables that a text in SQL makes. Raises BadSchema."""
    if len(text) > LONGEST or "\0" in text:
        raise BadSchema(f"the tables are a text of more than {LONGEST} characters, or with a NUL")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        _made(base, text)
        try:
            return _ordered(tuple(_tables(base)))
        except sqlite3.Error as error:
            raise BadSchema(f"SQLite cannot say what the tables are: {error}") from None


def _made(base: sqlite3.Connection, text: str) -> None:
    """Runs the text, which may make tables and fill them with examples."""
    denied: list[str] = []

    def allow(action: int, first: str | None, second: str | None, place: str | None, source: str | None) -> int:
        if action == sqlite3.SQLITE_PRAGMA:
            return sqlite3.SQLITE_IGNORE  # as dumps have it: pragma foreign_keys=on
        if action in _MADE or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in FORBIDDEN):
            return sqlite3.SQLITE_OK
        denied.append(second or first or str(action))
        return sqlite3.SQLITE_DENY

    left = [INSTRUCTIONS]

    def spent() -> bool:
        left[0] -= 1_000
        return left[0] < 0

    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    closed_functions(base, denied)
    base.set_authorizer(allow)
    base.set_progress_handler(spent, 1_000)
    try:
        base.executescript(text)
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        why = f"it uses {denied[0]!r}, and only tables, their indices and rows may be made" if denied else str(error)
        raise BadSchema(f"SQLite does not read the tables: {why}"[:300]) from None
    finally:
        base.set_authorizer(None)
        base.set_progress_handler(None, 0)


def _tables(base: sqlite3.Connection) -> Iterator[KeyedTable]:
    listed = base.execute(
        "select name, sql from sqlite_master where type='table' and name not like 'sqlite#_%' escape '#'"
    )
    made = listed.fetchall()
    if not 0 < len(made) <= MOST_TABLES:
        raise BadSchema(f"the text makes no table, or more than {MOST_TABLES}")
    if strange := [name for name, sql in made if sql.lower().startswith("create virtual")]:
        raise BadSchema(f"the table {strange[0]} is a virtual one")
    names = {name.lower(): name for name, _ in made}
    for name, create in made:
        columns = tuple(_columns(base, name))
        if not 0 < len(columns) <= MOST_COLUMNS:
            raise BadSchema(f"the table {name} has no columns that are filled, or more than {MOST_COLUMNS}")
        unique, indices = _unique(base, name)
        of_all = base.execute("select count(*) from pragma_table_xinfo(?)", (name,)).fetchone()[0]
        plain = of_all == len(columns) and words_of(create).isdisjoint({"collate", "strict"})
        yield KeyedTable(name, create, indices, columns, unique, tuple(_references(base, name, names)), plain)


def _columns(base: sqlite3.Connection, table: str) -> Iterator[KeyedColumn]:
    rows = base.execute('select name, type, "notnull", pk, hidden from pragma_table_xinfo(?)', (table,)).fetchall()
    for name, declared, never_null, key, hidden in rows:
        if hidden:  # computed from other columns
            continue
        found = base.execute(f"select distinct {quoted(name)} from {quoted(table)} limit {EXAMPLES}").fetchall()
        examples = tuple(sorted((cell for (cell,) in found if _plain(cell)), key=str))
        yield KeyedColumn(name, affinity(declared), declared, not never_null and not key, examples)


def _plain(cell: Any) -> bool:
    return isinstance(cell, str) or (isinstance(cell, int | float) and abs(cell) < LARGEST)


def affinity(declared: str) -> str:
    """The affinity of a declared type, by SQLite's rules in their order."""
    name = declared.upper()
    if "INT" in name:
        return "integer"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if "BLOB" in name or not name:
        return "blob"  # nothing is converted
    return "real" if any(part in name for part in ("REAL", "FLOA", "DOUB")) else "numeric"  # codespell:ignore doub


def _unique(base: sqlite3.Connection, table: str) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """(the unique sets of columns, the primary key first; the statements that make the unique indices)."""
    rows = base.execute("select name, pk from pragma_table_xinfo(?) where pk > 0 order by pk", (table,)).fetchall()
    found = [tuple(name for name, _ in rows)] if rows else []
    made = []
    for index, origin, partial in base.execute(
        'select name, origin, partial from pragma_index_list(?) where "unique" order by seq desc', (table,)
    ).fetchall():
        columns = tuple(name for (name,) in base.execute("select name from pragma_index_info(?)", (index,)))
        if not partial and None not in columns and columns not in found:
            found.append(columns)
        if origin == "c":
            made.append(base.execute("select sql from sqlite_master where name=?", (index,)).fetchone()[0])
    return tuple(found), tuple(made)


def _references(base: sqlite3.Connection, table: str, names: dict[str, str]) -> Iterator[Reference]:
    """The foreign keys to tables of the text. A key to a table that the text does not state is left out."""
    rows = base.execute(
        'select id, "table", "from", "to" from pragma_foreign_key_list(?) order by id desc, seq', (table,)
    ).fetchall()
    for key in dict.fromkeys(row[0] for row in rows):
        parts = [row for row in rows if row[0] == key]
        parent = names.get(parts[0][1].lower())
        if parent is None:
            continue
        columns = base.execute("select name, pk from pragma_table_xinfo(?) where not hidden", (parent,)).fetchall()
        primary = [name for name, rank in sorted(columns, key=lambda row: row[1]) if rank]
        targets = [row[3] for row in parts] if parts[0][3] is not None else primary
        spelt = {name.lower(): name for name, _ in columns}
        own = {
            name.lower(): name
            for (name,) in base.execute("select name from pragma_table_xinfo(?) where not hidden", (table,))
        }
        if len(targets) != len(parts) or any(name.lower() not in spelt for name in targets):
            raise BadSchema(f"a foreign key of {table} names columns that {parent} lacks, or that are computed")
        if any(row[2].lower() not in own for row in parts):
            raise BadSchema(f"a foreign key of {table} has columns that are computed")
        yield Reference(
            tuple(own[row[2].lower()] for row in parts), parent, tuple(spelt[name.lower()] for name in targets)
        )


def _ordered(tables: Sequence[KeyedTable]) -> Schema:
    """The tables in an order in which each refers to earlier ones.

    If they refer to one another in a circle, a reference whose columns may be NULL is filled at the end. A table's
    reference to itself is to its earlier rows.
    """
    left, done = list(tables), list[KeyedTable]()
    late: set[tuple[str, Reference]] = set()
    while left:
        made = {table.name for table in done}
        free = [table for table in left if not _waits(table, made, late)]
        if not free:
            late.add(_opened(left, made, late))
            continue
        done.append(free[0])
        left.remove(free[0])
    return Schema(tuple(done), frozenset(late))


def _waits(table: KeyedTable, made: set[str], late: set[tuple[str, Reference]]) -> list[Reference]:
    """The references of a table to tables that are not made yet."""
    return [one for one in table.references if one.table not in (*made, table.name) and (table.name, one) not in late]


def _opened(left: Sequence[KeyedTable], made: set[str], late: set[tuple[str, Reference]]) -> tuple[str, Reference]:
    """A reference within a circle that can be filled last, because its columns may be NULL."""
    for table in left:
        for one in _waits(table, made, late):
            if all(table.column(name).null for name in one.columns if name in {c.name for c in table.columns}):
                return table.name, one
    names = ", ".join(table.name for table in left)
    raise BadSchema(f"the tables {names} refer to one another, and no column of these references may be NULL")
