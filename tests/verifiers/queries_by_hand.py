"""Queries of one table, evaluated in Python without a database and without the package: the oracle of the tests.

A query is (columns or totals, distinct, conditions, their connective, grouping column, limit of a total).
"""

from __future__ import annotations

import operator
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

Cells = dict[str, Any]
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le, "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
WORDS = ("x", "y", "z")


@dataclass(frozen=True)
class Query:
    pick: str
    total: str = ""
    distinct: bool = False
    where: tuple[tuple[str, str, Any], ...] = ()
    connective: str = "and"
    by: str = ""

    def text(self) -> str:
        """As SQL."""
        what = f"{self.total}({self.pick})" if self.total else self.pick
        group = f"{self.by}, " if self.by else ""
        parts = [f"SELECT {'DISTINCT ' if self.distinct else ''}{group}{what} FROM t"]
        tests = [f"{name} {sign} {value!r}" for name, sign, value in self.where]
        parts += [f"WHERE {f' {self.connective} '.join(tests)}"] if tests else []
        parts += [f"GROUP BY {self.by}"] if self.by else []
        return " ".join(parts)

    def rows(self, table: Sequence[Cells]) -> Counter[tuple[Any, ...]]:
        """Its rows as a bag, with what SQL says of NULL: no comparison with it holds, no total counts it."""
        kept = [row for row in table if self._holds(row)]
        if not self.total:
            found = [(row[self.pick],) for row in kept]
            return Counter(set(found) if self.distinct else found)
        groups: dict[Any, list[Any]] = {} if self.by else {None: []}
        for row in kept:
            groups.setdefault(row[self.by] if self.by else None, []).append(row[self.pick])
        totals = {name: self._total([v for v in values if v is not None]) for name, values in groups.items()}
        return Counter((name, value) if self.by else (value,) for name, value in totals.items())

    def _holds(self, row: Cells) -> bool:
        found = [row[name] is not None and SIGNS[sign](row[name], value) for name, sign, value in self.where]
        return not found or (all(found) if self.connective == "and" else any(found))

    def _total(self, values: Sequence[Any]) -> Any:
        if self.total == "count":
            return len(values)
        if not values:
            return None
        return {"max": max, "min": min, "sum": sum, "avg": lambda v: round(sum(v) / len(v), 9)}[self.total](values)


def table(draw: random.Random) -> list[Cells]:
    def one() -> Cells:
        a = None if draw.random() < 0.1 else draw.randint(0, 30)
        return {"a": a, "b": draw.randint(0, 30), "c": draw.choice(WORDS)}

    return [one() for _ in range(draw.randint(4, 30))]


def differ(one: Query, other: Query, tables: Sequence[Sequence[Cells]]) -> bool:
    return any(one.rows(t) != other.rows(t) for t in tables)


def query(draw: random.Random) -> Query:
    where = [("ab"[i], draw.choice(list(SIGNS)[:4]), draw.randint(8, 20)) for i in range(draw.randint(1, 2))]
    total = draw.choice(["", "", "max", "min", "sum", "count", "avg"])
    by = "c" if total and draw.random() < 0.5 else ""
    distinct, connective = not total and draw.random() < 0.3, draw.choice(["and", "or"])
    return Query(draw.choice("ab"), total, distinct, tuple(where), connective, by)


def mutant(draw: random.Random, of: Query) -> Query:
    """The query with one thing changed: an operator, a constant, a column, a clause, the order of its conditions."""
    place = draw.randrange(len(of.where))
    name, sign, value = of.where[place]
    swapped: dict[str, Any] = {
        "sign": (name, draw.choice([s for s in SIGNS if s != sign]), value),
        "constant": (name, sign, value + draw.choice([-2, -1, 1, 2, 5])),
        "column": ({"a": "b", "b": "a"}[name], sign, value),
        "half": (name, sign, value + 0.5),
    }
    which = draw.choice([*swapped, "pick", "total", "distinct", "drop", "connective", "by", "order", "repeat"])
    if which in swapped:
        return replace(of, where=(*of.where[:place], swapped[which], *of.where[place + 1 :]))
    return {
        "pick": replace(of, pick={"a": "b", "b": "a"}[of.pick]),
        "total": replace(of, total=draw.choice(["max", "min", "sum", "count", "avg"])),
        "distinct": replace(of, distinct=not of.distinct and not of.total),
        "drop": replace(of, where=(*of.where[:place], *of.where[place + 1 :])),
        "connective": replace(of, connective={"and": "or", "or": "and"}[of.connective]),
        "by": replace(of, by="" if of.by else "c", total=of.total or "count"),
        "order": replace(of, where=of.where[::-1]),
        "repeat": replace(of, where=(*of.where, of.where[place])),
    }[which]
