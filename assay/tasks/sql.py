"""Questions to small tables; the answer is a query, verified by its rows on databases that are filled anew.

In compact wording a question is `S sum a/c|b>3`: what is asked for, after `/` the column that groups, after `|` the
condition, after `&` the condition on groups, `!` for different rows only, `u` for columns of the second table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.externals.sqlite import SQLITE
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.verifiers.sql import by_execution

WORDS = ("x", "y", "z")
TABLES: list[dict[str, Any]] = [
    {
        "name": "t",
        "columns": [
            {"name": "a", "kind": "integer", "values": [0, 30], "null": True},
            {"name": "b", "kind": "integer", "values": [0, 30]},
            {"name": "c", "kind": "text", "values": list(WORDS)},
        ],
        "rows": [8, 16],
    },
    {
        "name": "u",
        "columns": [
            {"name": "c", "kind": "text", "values": list(WORDS)},
            {"name": "d", "kind": "integer", "values": [0, 30]},
        ],
        "rows": [3, 6],
    },
]
SIGNS = {">": "more than", "<": "less than", ">=": "at least", "<=": "at most", "=": "exactly"}
TOTALS = {"max": "the largest", "min": "the smallest", "sum": "the sum of", "count": "the number of"}
TOTALS |= {"avg": "the mean of"}
LIMITS = {"max": (23, 28), "min": (3, 9), "count": (3, 5), "avg": (11, 19)}  # of a total, so that some groups pass


def _instance(generator: np.random.Generator, level: int) -> Spec:
    def one(choices: Sequence[str]) -> str:
        return choices[int(generator.integers(len(choices)))]

    def condition(column: str) -> list[Any]:
        return [column, one(list(SIGNS)), int(generator.integers(6, 20))]

    spec: dict[str, Any] = {"total": "", "pick": one("abc"), "distinct": False, "by": "", "where": [], "having": []}
    spec["joined"] = level == 5
    if level in (1, 5):
        spec["distinct"] = spec["pick"] != "c" and generator.random() < 0.3
        of_words = level == 1 and spec["pick"] != "c" and generator.random() < 0.3
        other = "b" if spec["pick"] == "a" else "a"  # a condition on the chosen column would leave little to ask
        spec["where"] = ["c", "=", one(WORDS)] if of_words else condition("d" if level == 5 else other)
    if level in (2, 3):
        spec |= {"total": one(list(TOTALS)), "pick": one("ab"), "by": "c" if level == 3 else ""}
        spec["where"] = condition("b" if spec["pick"] == "a" else "a")
    if level == 4:
        total = one(list(LIMITS))
        spec |= {"total": total, "pick": one("ab"), "by": "c"}
        spec["having"] = [one((">", "<", ">=", "<=")), int(generator.integers(*LIMITS[total]))]
    return {**spec, "tables": TABLES, "query": _query(spec)}


def _asked(spec: Spec) -> str:
    name = f"t.{spec['pick']}" if spec["joined"] and spec["pick"] == "c" else spec["pick"]
    return f"{spec['total']}({name})" if spec["total"] else name


def condition_of(where: Sequence[Any]) -> str:
    column, sign, value = where
    return f"{column}{sign}{value if isinstance(value, int) else repr(value)}"


def _query(spec: Spec) -> str:
    parts = [f"select {'distinct ' if spec['distinct'] else ''}{spec['by'] + ',' if spec['by'] else ''}{_asked(spec)}"]
    parts.append("from t join u on t.c=u.c" if spec["joined"] else "from t")
    parts += [f"where {condition_of(spec['where'])}"] if spec["where"] else []
    parts += [f"group by {spec['by']}"] if spec["by"] else []
    parts += [f"having {_asked(spec)}{spec['having'][0]}{spec['having'][1]}"] if spec["having"] else []
    return " ".join(parts)


def _compact(spec: Spec) -> str:
    what = f"{'!' if spec['distinct'] else ''}{spec['total']}{' ' if spec['total'] else ''}{spec['pick']}"
    where = f"|{condition_of(spec['where'])}" if spec["where"] else ""
    having = f"&{spec['having'][0]}{spec['having'][1]}" if spec["having"] else ""
    return f"S {what}{' u' if spec['joined'] else ''}{'/' + spec['by'] if spec['by'] else ''}{where}{having}"


def _natural(spec: Spec) -> str:
    total, pick, where = spec["total"], spec["pick"], spec["where"]
    what = f"{TOTALS[total]} {pick}" if total else pick
    if total == "count":
        what = f"the number of rows in which {pick} is not NULL"
    if spec["by"]:
        asked = f"For each value of {spec['by']} in t, give the value and {what}"
    else:
        asked = f"Give {what} {'over' if total else 'of'} all rows of t"
    if spec["joined"]:
        asked += ", paired with every row of u that has the same c"
    if where:
        value = where[2] if isinstance(where[2], int) else f"the text {where[2]!r}"
        asked += f", for which {where[0]} is {SIGNS[where[1]]} {value}"
    if spec["having"]:
        asked += f"; only groups for which this is {SIGNS[spec['having'][0]]} {spec['having'][1]}"
    asked += ". Give equal rows only once." if spec["distinct"] else ". Give equal rows as often as there are."
    return (
        "A database has the table t with the columns a (integer, may be NULL), b (integer) and c (text), and the table "
        f"u with the columns c (text) and d (integer).\n\n{asked}\n\nWrite one SQLite query. Its rows are compared on "
        "databases that you do not see; their order does not matter, the order of the columns does. Give the query in "
        "\\boxed{...}, for example \\boxed{select b, count(*) from t group by b}."
    )


def _solve(spec: Spec) -> Solution:
    return Solution(spec["query"])


def _check(spec: Spec, text: str) -> Verdict:
    return by_execution.explain([(by_execution.gold_text(spec), text)])[0].verdict


SQL = Task(
    name="sql",
    domain="databases",
    summary=(
        "Write a query for a question; levels: 1 rows by a condition, 2 a total, 3 totals of groups, 4 of some groups, "
        "5 rows of two tables."
    ),
    generator=Generator(levels=range(1, 6), first=2, instance=_instance, canonical=_compact),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(
        check=_check,
        verify_many=by_execution.verify,
        second=by_execution.verify_afresh,
        externals=("sqlite",),
        seconds=SQLITE.deadline,
    ),
    abilities=(OwnBase("queries with totals, also of groups", levels=(2, 3), num_steps=32, context=128, hidden=160),),
)
