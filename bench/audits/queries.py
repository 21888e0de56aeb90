"""Queries on a small table, rewritten, changed or broken. Fresh databases decide, filled and evaluated here in Python.

A question is drawn as a record: what is picked, how rows are filtered, grouped and filtered again. An evaluator
computes its rows from the record, by loops with the three truth values of SQL; no SQL is run. Two questions that differ
on one of many small databases are different. That a rewriting asks the same rests on the law that made it.
"""

from __future__ import annotations

import dataclasses
import json
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.verifiers.audit import Labelled

Draw = random.Random
Cells = dict[str, Any]
WORDS = ("red", "green", "blue")
FRESH = 400  # databases on which two questions are compared
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
TABLES = [
    {
        "name": "shops",
        "columns": [
            {"name": "size", "kind": "integer", "values": [0, 20], "null": True},
            {"name": "age", "kind": "integer", "values": [0, 20]},
            {"name": "colour", "kind": "text", "values": list(WORDS)},
        ],
        "rows": [8, 16],
    }
]


@dataclass(frozen=True)
class Question:
    """`Question("age", (("size", ">", 3),))` asks for the ages of shops with a size above 3."""

    pick: str
    where: tuple[tuple[str, str, Any], ...] = ()
    either: bool = False  # one condition is enough
    distinct: bool = False
    total: str = ""  # sum, count, max or min of what is picked, for each colour if `by`
    by: bool = False
    having: tuple[str, int] | None = None

    def rows(self, table: Sequence[Cells]) -> Counter[tuple[Any, ...]]:
        """The rows of the answer with how often each comes."""
        kept = [row for row in table if self._fits(row)]
        if not self.total:
            found = Counter((row[self.pick],) for row in kept)
            return Counter(found.keys()) if self.distinct else found
        groups: dict[str, list[Cells]] = {} if self.by else {"": []}
        for row in kept:
            groups.setdefault(row["colour"] if self.by else "", []).append(row)
        totals = {name: self._total([row[self.pick] for row in rows]) for name, rows in groups.items()}
        if self.having is not None:
            sign, limit = self.having
            totals = {n: one for n, one in totals.items() if one is not None and COMPARED[sign](one, limit)}
        return Counter((name, one) if self.by else (one,) for name, one in totals.items())

    def _fits(self, row: Cells) -> bool:
        """Whether the conditions are true: a comparison with NULL is not, and so is never enough."""
        truths = [row[name] is not None and COMPARED[sign](row[name], limit) for name, sign, limit in self.where]
        return not truths or (any if self.either else all)(truths)

    def _total(self, cells: Sequence[int | None]) -> int | None:
        there = [cell for cell in cells if cell is not None]
        if self.total == "count":
            return len(there)
        return {"sum": sum, "max": max, "min": min}[self.total](there) if there else None

    def sql(self, where: str | None = None) -> str:
        picked = f"{self.total}({self.pick})" if self.total else self.pick
        text = f"select {'distinct ' if self.distinct else ''}{'colour, ' if self.by else ''}{picked} from shops"
        conditions = (" or " if self.either else " and ").join(map(_condition, self.where)) if where is None else where
        text += f" where {conditions}" if conditions else ""
        text += " group by colour" if self.by else ""
        return text + (f" having {picked} {self.having[0]} {self.having[1]}" if self.having else "")


def _condition(one: tuple[str, str, Any]) -> str:
    name, sign, limit = one
    return f"{name} {sign} {_literal(limit)}"


def _literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def table(d: Draw, constants: Sequence[int]) -> list[Cells]:
    """Rows of few different cells, many of them next to a constant of the question, and some of them NULL."""
    near = [c + k for c in constants for k in (-1, 0, 1)] or [3]
    return [
        {
            "size": None if d.random() < 0.15 else d.choice([d.choice(near), d.randint(0, 20)]),
            "age": d.choice([d.choice(near), d.randint(0, 20)]),
            "colour": d.choice(WORDS),
        }
        for _ in range(d.choice([1, 1, 2, 3, 5, 12]))
    ]


def same(d: Draw, one: Question, other: Question) -> bool:
    """Whether two questions have the same rows on all fresh databases."""
    constants = [limit for question in (one, other) for _, _, limit in question.where if isinstance(limit, int)]
    tables = [table(d, constants) for _ in range(FRESH)]
    return all(one.rows(rows) == other.rows(rows) for rows in tables)


def drawn(d: Draw) -> Question:
    where = tuple(_where(d) for _ in range(d.randint(1, 2)))
    either = len(where) == 2 and d.random() < 0.5
    if d.random() < 0.5:
        return Question(d.choice(["size", "age", "colour"]), where, either, d.random() < 0.4)
    by = d.random() < 0.6
    having = (d.choice(["<", "<=", ">", ">="]), d.randint(3, 16)) if by and d.random() < 0.5 else None
    return Question(
        d.choice(["size", "age"]), where, either, False, d.choice(["sum", "count", "max", "min"]), by, having
    )


def _where(d: Draw) -> tuple[str, str, Any]:
    if d.random() < 0.25:
        return "colour", d.choice(["=", "<>"]), d.choice(WORDS)
    return d.choice(["size", "age"]), d.choice(list(COMPARED)), d.randint(4, 15)


def _rewritings(d: Draw, gold: Question) -> dict[str, str]:
    joined = " or " if gold.either else " and "
    texts = [_condition(one) for one in gold.where]
    opposite = [f"not ({name} {OPPOSITE[sign]} {_literal(limit)})" for name, sign, limit in gold.where]
    mirrored = [f"{_literal(limit)} {MIRRORED[sign]} {name}" for name, sign, limit in gold.where]
    inverted = (" and " if gold.either else " or ").join(f"not ({text})" for text in texts)
    found = {
        "not the opposite": gold.sql(joined.join(opposite)),
        "sides mirrored": gold.sql(joined.join(mirrored)),
        "De Morgan": gold.sql(f"not ({inverted})"),
        "conditions turned": gold.sql(joined.join(texts[::-1])),
        "a condition twice": gold.sql(f"({joined.join(texts)}) and ({joined.join(texts)})"),
        "a case": gold.sql(f"case when {joined.join(texts)} then 1 else 0 end = 1"),
        "capitals": gold.sql().replace("select", "SELECT").replace("where", "WHERE").replace("from", "FROM"),
        "a semicolon": f"{gold.sql()};",
        "an inner query": f"select * from ({gold.sql()})",
        "a name for it": f"with found as ({gold.sql()}) select * from found",
        "a filtered table": gold.sql("1 = 1").replace("shops", f"(select * from shops where {joined.join(texts)})"),
        "an order": f"{gold.sql()} order by 1",
    }
    if gold.distinct:
        found["groups for different rows"] = gold.sql().replace("distinct ", "") + f" group by {gold.pick}"
    if gold.total == "count":
        found["a sum of ones"] = gold.sql().replace(f"count({gold.pick})", f"coalesce(sum({gold.pick} is not null), 0)")
    return found


def _changes(d: Draw, gold: Question) -> dict[str, Question]:
    at = d.randrange(len(gold.where))
    name, sign, limit = gold.where[at]

    def condition(*new: tuple[str, str, Any]) -> Question:
        return dataclasses.replace(gold, where=(*gold.where[:at], *new, *gold.where[at + 1 :]))

    other = d.choice([word for word in WORDS if word != limit]) if isinstance(limit, str) else limit + d.choice([-1, 1])
    found = {
        "a constant": condition((name, sign, other)),
        "a comparison": condition((name, d.choice([one for one in COMPARED if one != sign]), limit)),
        "a condition dropped": condition(),
        "a condition more": condition((name, sign, limit), _where(d)),
        "and for or": dataclasses.replace(gold, either=not gold.either),
        "another column": dataclasses.replace(gold, pick="age" if gold.pick == "size" else "size"),
    }
    if gold.total:
        others = [one for one in ("sum", "count", "max", "min") if one != gold.total]
        found["another total"] = dataclasses.replace(gold, total=d.choice(others))
        found["no groups" if gold.by else "groups"] = dataclasses.replace(gold, by=not gold.by, having=None)
    else:
        found["different rows"] = dataclasses.replace(gold, distinct=not gold.distinct)
    if gold.having:
        found["the limit of groups"] = dataclasses.replace(gold, having=(gold.having[0], gold.having[1] + 1))
        found["all groups"] = dataclasses.replace(gold, having=None)
    return found


def _broken(gold: Question) -> dict[str, str]:
    text = gold.sql()
    return {
        "no such table": text.replace("shops", "shop"),
        "no such column": text.replace(" from", ", price from"),
        "a column more": text.replace(" from", ", 1 from"),
        "two statements": f"{text}; {text}",
        "a change of the table": "delete from shops",
        "the schema": "select sql from sqlite_master",
        "a file": "attach 'other.db' as other",
        "no rows": f"select * from ({text}) where 0",
        "a row more": f"{text} union all select {'null, ' if gold.by else ''}null",
        "words": f"The query is {text}",
        "half": text[: len(text) // 2],
        "empty": "",
    }


def sql(count: int, seed: int) -> Iterator[Labelled]:
    """Queries by laws, changed in one place, or broken."""
    d = random.Random(f"sql {seed}")
    made = 0
    while made < count:
        gold, way = drawn(d), made % 5
        constants = [limit for _, _, limit in gold.where if isinstance(limit, int)]
        answers = [gold.rows(table(d, constants)) for _ in range(40)]
        if sum(map(bool, answers)) < 20 or len({json.dumps(sorted(map(str, one.items()))) for one in answers}) < 8:
            continue  # too many databases are answered in the same way
        text = json.dumps({"tables": TABLES, "query": gold.sql()})
        ways = _rewritings(d, gold) if way in (0, 1) else _broken(gold) if way == 4 else _changes(d, gold)
        name = d.choice(list(ways))
        answer, label = ways[name], way in (0, 1)
        if isinstance(answer, Question):
            answer, label = answer.sql(), same(d, gold, answer)
        made += 1
        yield Labelled(text, answer, label, name, origin=("rewritten", "rewritten", "mutant", "mutant", "trick")[way])
