"""SQLite: one query of a model on databases that are made for it and forgotten afterwards.

Each database is new, in memory, and closed to everything but reading its own tables. An authoriser allows `SELECT` on
these tables and functions without side effects. The virtual machine counts its instructions, so that a query without
end is stopped at the same point on every machine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from assay.externals.external import External

INSTRUCTIONS = 5_000_000  # of SQLite's virtual machine, for one query on one database
STEP = 1_000  # instructions between two looks at the budget
MOST_ROWS, MOST_BYTES = 100_000, 8 << 20  # of a result
LONGEST_CELL = 1_000_000  # bytes; also of everything that a query computes on the way
LONGEST_QUERY = 20_000
FORBIDDEN = frozenset(
    (
        *("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_log"),
        *("sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_source_id", "sqlite_version"),
        *("random", "randomblob", "zeroblob", "last_insert_rowid", "changes", "total_changes"),
        *("date", "time", "datetime", "julianday", "strftime", "unixepoch", "timediff"),
    )
)
"""Functions that read or write outside the database, answer differently each time, or make large values."""

Run = Callable[[Sequence[dict[str, Any]], str], dict[str, Any]]
"""Runs a query on one database and returns its status, with the rows if it is done."""


def answer(job: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Runs a query on each database. A database is a list of tables: a name, columns and rows.

    table = {"name": "t", "columns": [["a", "integer"]], "rows": [[1], [2]]}
    answer({"databases": [[table]], "query": "select sum(a) from t"}, print)
    # {"results": [{"status": "done", "rows": [[3]]}]}

    A status is done, error, forbidden, time, memory or output; the results end with the first that is not done.
    """
    return on_each(job, tell, _run)


def on_each(job: dict[str, Any], tell: Callable[[str], None], run: Run) -> dict[str, Any]:
    """The results of a job's query on each of its databases, up to the first that is not done."""
    results = []
    for number, tables in enumerate(job["databases"]):
        tell(str(number))
        results.append(run(tables, job["query"]))
        if results[-1]["status"] != "done":
            break
    return {"results": results}


def _run(tables: Sequence[dict[str, Any]], query: str) -> dict[str, Any]:
    base = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    try:
        for table in tables:
            columns = ", ".join(f"{name} {kind}" for name, kind in table["columns"])
            base.execute(f"create table {table['name']} ({columns})")
            marks = ", ".join("?" * len(table["columns"]))
            base.executemany(f"insert into {table['name']} values ({marks})", table["rows"])
        denied = _close_up(base, {table["name"].lower() for table in tables})
        return _result(base, query, denied)
    finally:
        base.close()


def _close_up(base: sqlite3.Connection, names: set[str]) -> list[str]:
    """From now on the connection reads these tables and nothing else; the list fills with what was denied."""
    for limit, value in (
        (sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_CELL),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, LONGEST_QUERY),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 20),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
        (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        base.setlimit(limit, value)
    denied: list[str] = []

    readable = {*names, ""}  # the empty name stands for a table of which no column is read

    def allow(action: int, first: str | None, second: str | None, place: str | None, source: str | None) -> int:
        fine = (
            action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
            or (action == sqlite3.SQLITE_READ and (first or "").lower() in readable)
            or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in FORBIDDEN)
        )
        if not fine:
            denied.append(f"{first or ''} {second or ''}".strip() or str(action))
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    base.set_authorizer(allow)
    return denied


def _result(base: sqlite3.Connection, query: str, denied: list[str]) -> dict[str, Any]:
    left = INSTRUCTIONS

    def spent() -> bool:
        nonlocal left
        left -= STEP
        return left < 0

    base.set_progress_handler(spent, STEP)
    base.text_factory = lambda cell: cell.decode("utf-8", "replace")
    rows: list[list[Any]] = []
    size = 0
    try:
        for row in base.execute(query):
            cells = [{"blob": cell.hex()} if isinstance(cell, bytes) else cell for cell in row]
            size += 8 + sum(len(cell) if isinstance(cell, str | dict) else 8 for cell in cells)
            rows.append(cells)
            if len(rows) > MOST_ROWS or size > MOST_BYTES:
                return {"status": "output"}
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        if left < 0:
            return {"status": "time"}
        status = "forbidden" if denied or "one statement" in str(error) else "error"
        return {"status": status, "detail": (denied or [type(error).__name__])[0][:80]}
    return {"status": "done", "rows": rows}


EXAMPLE = [{"name": "t", "columns": [["a", "integer"], ["b", "text"]], "rows": [[1, "x"], [2, "y"], [4, "x"]]}]

SQLITE = External(
    name="sqlite",
    purpose="runs queries on small databases",
    install="it comes with Python; a Python built without it needs libsqlite3 and a new build",
    version=lambda: sqlite3.sqlite_version,
    answer="assay.externals.sqlite:answer",
    passes={"databases": [EXAMPLE], "query": "select b, sum(a) from t group by b order by b"},
    fails={"databases": [EXAMPLE], "query": "attach 'x' as y"},
    accepts=lambda result: result["results"] == [{"status": "done", "rows": [["x", 5], ["y", 2]]}],
    deadline=5.0,
)
