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
LONGEST_CELL = 1_000_000  # bytes; also of each value that a query computes on the way
LONGEST_QUERY = 20_000
FORBIDDEN = frozenset(
    (
        *("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_log"),
        *("sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_source_id", "sqlite_version"),
        *("random", "randomblob", "zeroblob", "last_insert_rowid", "changes", "total_changes"),
        *("current_date", "current_time", "current_timestamp", "timediff"),
    )
)
"""Functions that read or write outside the database, answer differently each time, or make large values."""
DATES = ("date", "time", "datetime", "julianday", "strftime", "unixepoch")
CLOCK = frozenset({"now", "subsec", "subsecond"})  # times that are read from the clock
ZONE = frozenset({"localtime", "utc"})  # modifiers that read the machine's time zone
RATHER = {"reversed": "pragma reverse_unordered_selects = on", "unindexed": "pragma automatic_index = off"}
COST_OF_DATE = 100  # instructions for which a call of a function of dates counts

RunQuery = Callable[[Sequence[dict[str, Any]], str], dict[str, Any]]
"""Runs a query on one database and returns its status, with the rows if it is done."""


def answer(job: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Runs a query on each database. A database is a list of tables: a name, columns and rows.

    table = {"name": "t", "columns": [["a", "integer"]], "rows": [[1], [2]]}
    answer({"databases": [[table]], "query": "select sum(a) from t"}, print)
    # {"results": [{"status": "done", "rows": [[3]]}]}

    A table that was declared in SQL also has `create`, the statements that make it. `rather` says that rows whose order
    a query does not state come in another one: `reversed`, or `unindexed`, as they were inserted.

    A status is done, error, forbidden, time, memory or output; the results end with the first that is not done.
    """
    return on_each(job, tell, _run)


def on_each(job: dict[str, Any], tell: Callable[[str], None], run: RunQuery) -> dict[str, Any]:
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
            _make(base, table)
        for asked in {table["rather"] for table in tables if "rather" in table}:
            base.execute(RATHER[asked])
        denied: list[str] = []
        cost = closed_functions(base, denied)
        _close_up(base, {table["name"].lower() for table in tables}, denied)
        return _result(base, query, denied, cost)
    finally:
        base.close()


def _make(base: sqlite3.Connection, table: dict[str, Any]) -> None:
    """Makes a table as it was declared, or from the names and kinds of its columns, and inserts its rows."""
    name, columns = quoted(table["name"]), [quoted(column) for column, _ in table["columns"]]
    kinds = ", ".join(f"{column} {kind}" for column, (_, kind) in zip(columns, table["columns"], strict=True))
    for sql in table.get("create") or [f"create table {name} ({kinds})"]:
        base.execute(sql)
    marks = ", ".join("?" * len(columns))
    base.executemany(f"insert into {name} ({', '.join(columns)}) values ({marks})", table["rows"])


def quoted(name: str) -> str:
    """A name as SQL takes every name."""
    return '"' + name.replace('"', '""') + '"'


def closed_functions(base: sqlite3.Connection, denied: list[str]) -> Callable[[], int]:
    """Lets functions of dates compute with times that are given, and read neither clock nor time zone.

    `strftime('%Y', born)` is what it was; `strftime('%Y', 'now')` and `date()` fail, and `denied` says so. Returns a
    function that says how many instructions the calls so far count for.
    """
    helper: list[sqlite3.Connection] = []
    calls = 0

    def guarded(name: str) -> Callable[..., Any]:
        first = 1 if name == "strftime" else 0  # the place of the time, behind the format

        def call(*given: Any) -> Any:
            nonlocal calls
            calls += 1
            texts = [_as_sqlite_reads(value) for value in given]
            if len(given) <= first or texts[first] in CLOCK or not ZONE.isdisjoint(texts[first + 1 :]):
                denied.append(f"{name} of the clock")
                raise ValueError(name)
            if not helper:
                helper.append(sqlite3.connect(":memory:", isolation_level=None))
            return helper[0].execute(f"select {name}({', '.join('?' * len(given))})", given).fetchone()[0]

        return call

    for name in DATES:
        base.create_function(name, -1, guarded(name), deterministic=True)
    for name in ("current_date", "current_time", "current_timestamp"):  # which a default reads without being asked
        base.create_function(name, 0, guarded(name), deterministic=True)
    return lambda: calls * COST_OF_DATE


def _as_sqlite_reads(given: Any) -> str:
    """An argument of a function of dates as these read it: bytes are text, and a NUL ends it."""
    text = given.decode("latin-1") if isinstance(given, bytes) else str(given)
    return text.partition("\0")[0].strip().lower()


def _close_up(base: sqlite3.Connection, names: set[str], denied: list[str]) -> None:
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

    def readable(table: str, column: str) -> bool:
        """A table of the question, or one that the query makes itself, of which no column is read: `count(*)`."""
        return table in names or (not column and not table.startswith("sqlite_"))

    def allow(action: int, first: str | None, second: str | None, place: str | None, source: str | None) -> int:
        fine = (
            action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
            or (action == sqlite3.SQLITE_READ and readable((first or "").lower(), second or ""))
            or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in FORBIDDEN)
        )
        if not fine:
            denied.append(f"{first or ''} {second or ''}".strip() or str(action))
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    base.set_authorizer(allow)


def _result(base: sqlite3.Connection, query: str, denied: list[str], cost: Callable[[], int]) -> dict[str, Any]:
    counted = 0

    def spent() -> bool:
        nonlocal counted
        counted += STEP
        return counted + cost() > INSTRUCTIONS

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
        if counted + cost() > INSTRUCTIONS:
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
    deadline=0.5,
)
