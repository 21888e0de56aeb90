"""DuckDB: a second engine for queries, with the same jobs and results as `assay.externals.sqlite`."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Sequence
from typing import Any

from assay.externals.external import External
from assay.externals.sqlite import EXAMPLE, MOST_BYTES, MOST_ROWS, on_each, quoted
from assay.externals.versions import of_package

SETTINGS = {"threads": 1, "memory_limit": "256MB", "enable_external_access": "false"}


KINDS = {"integer": "bigint", "real": "double", "numeric": "double", "text": "varchar", "blob": "varchar"}
"""DuckDB's type for each kind of column that SQLite has: it would not take SQLite's own texts of types."""


def answer(job: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Runs a query on each database: `answer` of `assay.externals.sqlite` says how both look."""
    return on_each(job, tell, _run)


def _run(tables: Sequence[dict[str, Any]], query: str) -> dict[str, Any]:
    import duckdb

    base = duckdb.connect(":memory:", config=SETTINGS)
    try:
        for table in tables:
            parts = [f"{quoted(name)} {kind}" for name, kind in _kinds(table)]
            parts += [f"unique ({', '.join(map(quoted, columns))})" for columns in table.get("unique", ())]
            base.execute(f"create table {quoted(table['name'])} ({', '.join(parts)})")
            marks = ", ".join("?" * len(table["columns"]))
            if table["rows"]:
                base.executemany(f"insert into {quoted(table['name'])} values ({marks})", table["rows"])
        base.execute("set lock_configuration = true")
        statements = base.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            return {"status": "forbidden", "detail": "not one SELECT"}
        return _result(base.execute(statements[0]))
    except duckdb.OutOfMemoryException:
        return {"status": "memory"}
    except (duckdb.Error, ValueError, RuntimeError) as error:
        return {"status": "error", "detail": type(error).__name__}
    finally:
        base.close()


def _kinds(table: dict[str, Any]) -> list[tuple[str, str]]:
    """The columns with DuckDB's types; one that has a text, as a date is to SQLite, is of texts."""
    texts = {i for row in table["rows"] for i, cell in enumerate(row) if isinstance(cell, str)}
    return [(name, "varchar" if i in texts else KINDS[kind]) for i, (name, kind) in enumerate(table["columns"])]


def _result(cursor: Any) -> dict[str, Any]:
    rows: list[list[Any]] = []
    size = 0
    while some := cursor.fetchmany(1_000):
        for row in some:
            rows.append([_plain(cell) for cell in row])
            size += 8 + sum(len(cell) if isinstance(cell, str) else 8 for cell in rows[-1])
        if len(rows) > MOST_ROWS or size > MOST_BYTES:
            return {"status": "output"}
    return {"status": "done", "rows": rows}


def _plain(cell: Any) -> Any:
    """A cell as JSON has it: decimals as numbers, blobs as their bytes, everything else as text."""
    if isinstance(cell, decimal.Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, bytes):
        return {"blob": cell.hex()}
    if isinstance(cell, datetime.date | datetime.time | datetime.timedelta | list | tuple | dict):
        return str(cell)
    return cell


DUCKDB = External(
    name="duckdb",
    purpose="runs queries on small databases, beside sqlite",
    install="pip install 'assay-rl[externals]'",
    version=lambda: of_package("duckdb"),
    answer="assay.externals.duckdb:answer",
    loads=("duckdb",),
    passes={"databases": [EXAMPLE], "query": "select b, sum(a) from t group by b order by b"},
    fails={"databases": [EXAMPLE], "query": "select * from read_csv('/etc/passwd')"},
    accepts=lambda result: result["results"] == [{"status": "done", "rows": [["x", 5], ["y", 2]]}],
    deadline=2.0,
    memory_mb=4096,  # it reserves address space far beyond its memory_limit
)
