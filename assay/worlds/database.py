"""A world with a database: each play has one of SQLite in memory, in which a policy reads and writes.

An authoriser allows statements on tables, indexes and views of this database and nothing else: no file, no extension,
no setting, no transaction, no clock, no random number. SQLite counts its instructions, so that a statement without an
end is stopped at the same point on every machine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.externals.sqlite import FORBIDDEN, STEP, closed_functions, quoted
from assay.rng import Key
from assay.types import Verdict
from assay.worlds.play import Act, Ask, Call, Line, Reply, Spec, World
from assay.worlds.speech import Compact, Fence, Speech
from assay.worlds.tools import ToolError, takes_text

INSTRUCTIONS = 200_000  # of SQLite's virtual machine, for one statement
LONGEST_STATEMENT = 4_000  # characters
LONGEST_CELL = 2_000  # bytes, also of each value on the way
PAGES = 1_000  # of 4 KiB, that the database may grow to
ROWS, LONGEST = 20, 1_000  # rows and characters of a reply
CUT = "[cut]"
LINE, QUERY = Compact(one_line=True), Fence(language="sql")
ABOUT = "Runs a statement of SQLite. Its rows follow; what it changes stays."
_LIMITS = (
    (sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_CELL),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, LONGEST_STATEMENT),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100),
    (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 20),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
_ALLOWED = frozenset(
    (
        *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_READ),
        *(sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_ALTER_TABLE),
        *(sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_VIEW),
        *(sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_INDEX, sqlite3.SQLITE_DROP_VIEW),
        sqlite3.SQLITE_REINDEX,  # which making an index asks for
    )
)

TableRows = list[tuple[Any, ...]]
JudgesTables = Callable[[Spec, Callable[[str], TableRows]], Mapping[str, Verdict]]
"""(spec, a function that runs a query on what the play has left) -> verdicts by seat; {}: the text alone decides."""


@dataclass(frozen=True)
class Filled:
    """A table with its rows: `Filled("t", (("a", "integer"), ("c", "text")), ((1, "x"), (None, "y")))`."""

    name: str
    columns: Sequence[tuple[str, str]]  # name and kind
    rows: Sequence[Sequence[Any]]


def database(
    tables: Callable[[Spec], Sequence[Filled]],
    *,
    judged: JudgesTables = lambda spec, rows: {},
    speech: Speech = LINE,
    natural: Speech = QUERY,
) -> World:
    """The world in which a policy may send statements to a database, which begins with these tables. The reply is the
    rows, cut, or the error. The play ends with a turn that sends none; then `judged` may look at what is left.

    database(lambda spec: [Filled("t", (("a", "integer"),), spec["rows"])])
    """

    def start(spec: Spec, key: Key) -> DatabasePlay:
        play = DatabasePlay(spec, judged)
        for table in tables(spec):
            _make(play.base, table)
        play.close_up()
        return play

    def resume(spec: Spec, key: Key, saved: bytes) -> DatabasePlay:
        play = DatabasePlay(spec, judged)
        play.base.deserialize(saved)
        play.close_up()
        return play

    tool = takes_text("sql", "statement", ABOUT)
    return World(start, speech=speech, natural=natural, tools=(tool,), resume=resume, fork="save")


def _make(base: sqlite3.Connection, table: Filled) -> None:
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in table.columns)
    base.execute(f"create table {quoted(table.name)} ({columns})")
    marks = ", ".join("?" * len(table.columns))
    base.executemany(f"insert into {quoted(table.name)} values ({marks})", table.rows)


@dataclass
class DatabasePlay:
    """A play of one seat with a database."""

    spec: Spec
    judged: JudgesTables
    base: sqlite3.Connection = field(init=False)
    _denied: list[str] = field(default_factory=list)
    _spent: int = 0  # instructions of the present statement
    _before: int = 0  # what the functions of dates had cost when it began
    _cost: Callable[[], int] = lambda: 0

    def __post_init__(self) -> None:
        self.base = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0, check_same_thread=False)

    def close_up(self) -> None:
        """From now on the connection reaches its own tables, and nothing else."""
        self.base.execute("pragma temp_store = memory")
        self.base.execute(f"pragma max_page_count = {PAGES}")
        for limit, value in _LIMITS:
            self.base.setlimit(limit, value)
        self._cost = closed_functions(self.base, self._denied)
        self.base.text_factory = lambda cell: cell.decode("utf-8", "replace")
        self.base.set_authorizer(self._allow)
        self.base.set_progress_handler(self._too_long, STEP)

    def _allow(self, action: int, first: str | None, second: str | None, place: str | None, source: str | None) -> int:
        fine = action in _ALLOWED or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in FORBIDDEN)
        if not fine:
            self._denied.append(f"{first or ''} {second or ''}".strip() or "such a statement")
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    def _too_long(self) -> bool:
        self._spent += STEP
        return self._spent + self._cost() - self._before > INSTRUCTIONS

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        if not act.calls:
            return Reply(end="ended")
        replies = [self._called(call) for call in act.calls]
        return Reply(Ask(say=tuple(Line(text) for text, _ in replies)), failed=any(failed for _, failed in replies))

    def _called(self, call: Call) -> tuple[str, bool]:
        """The reply to a call, and whether it tells of an error."""
        try:
            if call.fault:
                raise ToolError(call.fault)
            return self._ran(str(call.arguments["statement"])), False
        except ToolError as error:
            return str(error)[:LONGEST], True

    def _ran(self, statement: str) -> str:
        self._denied.clear()
        self._spent, self._before = 0, self._cost()
        try:
            cursor = self.base.execute(statement)
            rows = cursor.fetchmany(ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            if self._spent + self._cost() - self._before > INSTRUCTIONS:
                raise ToolError("the statement took too long") from None
            raise ToolError(f"not allowed: {self._denied[0]}" if self._denied else str(error)) from None
        told = _written(rows) if cursor.description else f"{max(0, cursor.rowcount)} rows changed"
        cursor.close()
        return told

    def rows(self, query: str) -> TableRows:
        """The rows of a query of ours on what the play has left."""
        self._spent, self._before = 0, self._cost()
        return self.base.execute(query).fetchall()

    def judge(self) -> Mapping[str, Verdict]:
        return self.judged(self.spec, self.rows)

    def save(self) -> bytes:
        self.base.set_authorizer(None)  # it would refuse what SQLite asks itself
        try:
            return self.base.serialize()
        finally:
            self.base.set_authorizer(self._allow)

    def close(self) -> None:
        self.base.close()


def _written(rows: TableRows) -> str:
    """Rows as lines, of which the first ones stand whole: `1,x` and `NULL,y`."""
    lines = [",".join("NULL" if cell is None else _cell(cell) for cell in row) for row in rows]
    text = "\n".join(lines[:ROWS])
    if len(text) > LONGEST:
        return f"{text[:LONGEST]} {CUT}"
    return f"{text}\n{CUT}" if len(lines) > ROWS else text


def _cell(cell: Any) -> str:
    return f"x'{cell.hex()}'" if isinstance(cell, bytes) else str(cell)
