"""Questions to small tables that only a database shows; the policy sends it statements. The tables are those of `sql`.

In compact wording a call is `[select sum(a) from t where b>3]`, and its rows follow. The right answer is computed here
from the rows of the instance, without a database. Where rows are to be changed, what is left of them decides too.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.sql import SIGNS, TABLES, WORDS, condition_of
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds.database import Filled, TableRows, database

NULLS = 0.1  # share of NULL in a column that allows it
NUM_ROWS = {"t": (14, 26), "u": (4, 8)}
LEAST = 3  # rows that a question is about
PICKS = ("a", "b", "a*b")
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_ANSWER = re.compile(r"-?[0-9]{1,9}")

_Row = Mapping[str, Any]


def _cell(generator: np.random.Generator, column: Mapping[str, Any]) -> Any:
    if column.get("null") and generator.random() < NULLS:
        return None
    if column["kind"] == "text":
        return column["values"][int(generator.integers(len(column["values"])))]
    least, largest = column["values"]
    return int(generator.integers(least, largest + 1))


def _rows(generator: np.random.Generator, table: Mapping[str, Any]) -> list[list[Any]]:
    count = int(generator.integers(*NUM_ROWS[table["name"]]))
    return [[_cell(generator, column) for column in table["columns"]] for _ in range(count)]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """A random question to random rows, drawn again until it is about several."""
    while True:
        column, number = "b" if level == 4 else "ab"[int(generator.integers(2))], int(generator.integers(4, 26))
        spec = {
            "level": level,
            "pick": "b" if level == 4 else PICKS[int(generator.integers(len(PICKS)))],
            "where": [column, list(COMPARED)[int(generator.integers(len(COMPARED)))], number],
            "word": WORDS[int(generator.integers(len(WORDS)))],
            "add": int(generator.integers(2, 10)),
            "rows": {table["name"]: _rows(generator, table) for table in TABLES},
        }
        if len(_chosen(spec)) >= LEAST and _changed(spec) >= LEAST:
            return spec


# The answer, without a database


def _kept(spec: Spec, row: _Row) -> bool:
    column, sign, number = spec["where"]
    return row[column] is not None and COMPARED[sign](row[column], number)


def _value(spec: Spec, row: _Row) -> int | None:
    cells = [row[name] for name in spec["pick"].split("*")]
    return None if None in cells else int(np.prod(cells))


def left_of(spec: Spec) -> list[list[Any]]:
    """The rows of t when all that was asked for has been done."""
    add = spec["add"] if spec["level"] == 4 else 0
    return [[a, b + add * (c == spec["word"]), c] for a, b, c in spec["rows"]["t"]]


def _changed(spec: Spec) -> int:
    return sum(c == spec["word"] for _, _, c in spec["rows"]["t"])


def _chosen(spec: Spec) -> Sequence[_Row]:
    """The rows that the question adds up; a row of t is paired with each of u where the two are joined."""
    rows = [dict(zip("abc", row)) for row in left_of(spec)]
    chosen = [row for row in rows if _kept(spec, row) and _value(spec, row) is not None]
    if spec["level"] != 2:
        return chosen
    return [row for row in chosen for c, _ in spec["rows"]["u"] if c == row["c"]]


def value_of(spec: Spec) -> int:
    """The number that the question asks for."""
    rows = _chosen(spec)
    groups = [[row for row in rows if row["c"] == word] for word in WORDS] if spec["level"] == 3 else [rows]
    return max(sum(_value(spec, row) or 0 for row in group) for group in groups if group)


# Wordings


def _statements(spec: Spec) -> list[str]:
    asked = f"sum({spec['pick']})"
    where = f"where {condition_of(spec['where'])}"
    if spec["level"] == 2:
        return [f"select {asked} from t join u on t.c=u.c {where}"]
    if spec["level"] == 3:
        return [f"select max(s) from (select {asked} s from t {where} group by c)"]
    change = [f"update t set b=b+{spec['add']} where c='{spec['word']}'"] if spec["level"] == 4 else []
    return [*change, f"select {asked} from t {where}"]


def _compact(spec: Spec) -> str:
    kind = {1: "", 2: " u", 3: "/c", 4: f" +{spec['add']} {spec['word']}"}[spec["level"]]
    return f"db {spec['pick']}{kind}|{condition_of(spec['where'])}"


def _canonical(spec: Spec) -> str:
    return f"{_compact(spec)} {spec['rows']}"


def _natural(spec: Spec) -> str:
    column, sign, number = spec["where"]
    value = spec["pick"].replace("*", " times ")
    condition = f"in which {column} is {SIGNS[sign]} {number}"
    asked = f"What is the sum of {value} over all rows of t {condition}?"
    if spec["level"] == 2:
        asked = f"Pair each row of t {condition} with every row of u that has the same c. What is the sum of {value}?"
    if spec["level"] == 3:
        asked = f"For each c, add up {value} over the rows of t {condition}. What is the largest of these sums?"
    if spec["level"] == 4:
        asked = f"Add {spec['add']} to b in every row of t whose c is '{spec['word']}', and leave it so. Then: {asked}"
    return (
        "A database has the table t with the columns a (integer, may be NULL), b (integer) and c (text), and the table "
        f"u with the columns c (text) and d (integer).\n\n{asked} Rows in which it is NULL do not count.\n\nWrite a "
        "statement of SQLite between a line ```sql and a line ``` to have it run: its rows follow in a block named "
        "output, and what it changes stays. Give the number in \\boxed{...}."
    )


def _solve(spec: Spec) -> Solution:
    answer, statements = str(value_of(spec)), _statements(spec)
    said = [f"{_changed(spec)} rows changed"] * (len(statements) - 1) + [answer]
    pairs = list(zip(statements, said, strict=True))
    compact = "".join(f"[{statement}]{reply}" for statement, reply in pairs)
    natural = "".join(f"```sql\n{statement}\n```\n```output\n{reply}\n```\n" for statement, reply in pairs)
    return Solution(answer, compact, natural)


def _check(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= 32 else ""
    if _ANSWER.fullmatch(answer) is None:
        return Verdict.fail("format", "expected a whole number")
    value = str(int(answer))
    return Verdict.ok(value) if int(answer) == value_of(spec) else Verdict.fail("wrong", answer=value)


def _filled(spec: Spec) -> list[Filled]:
    columns = {table["name"]: [(column["name"], column["kind"]) for column in table["columns"]] for table in TABLES}
    return [Filled(name, columns[name], rows) for name, rows in spec["rows"].items()]


def _judged(spec: Spec, rows: Callable[[str], TableRows]) -> Mapping[str, Verdict]:
    """A failure where the table is not what it has to be; else the answer decides."""
    if spec["level"] != 4:
        return {}
    try:
        left = sorted(map(repr, map(list, rows("select a, b, c from t limit 1000"))))
    except Exception as error:  # the policy has dropped the table, or made another one of its name
        return {"policy": Verdict.fail("wrong", f"the table t cannot be read any more: {error}")}
    if left == sorted(map(repr, left_of(spec))):
        return {}
    return {"policy": Verdict.fail("wrong", "the rows of t are not what they have to be")}


SQL_TOOL = Task(
    name="sql-tool",
    domain="databases",
    summary=(
        "Ask a database for a number; levels: 1 a sum over rows, 2 over rows of two tables, 3 the largest sum of a "
        "group, 4 a sum after rows were changed."
    ),
    generator=Generator(levels=range(1, 5), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("sums over rows of a database", levels=(1,), num_steps=54, context=256),),
    world=database(_filled, judged=_judged),
)
