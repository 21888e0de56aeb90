"""Queries: comparison of results, golds, and verdicts on mutants whose truth an evaluator in Python decides."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from queries_by_hand import differ, mutant, query, table
from small_runs import Shell

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.rng import Key
from assay.tasks import task
from assay.tasks.sql import TABLES
from assay.verifiers.sql import by_execution
from assay.verifiers.sql.by_execution import explain, gold_text, orders, plain
from assay.verifiers.sql.compare import same
from assay.verifiers.sql.databases import BadSchema, fill, tables_of, turned

external = pytest.mark.external("sqlite")


def gold(text: str, tables: Any = TABLES) -> str:
    return gold_text({"tables": tables, "query": text})


def verdict(gold_query: str, answer: str | None) -> tuple[str, str]:
    (one,) = explain([(gold(gold_query), answer)])
    return one.verdict.status, one.verdict.kind


@pytest.mark.parametrize(
    ("mine", "theirs", "bag", "sequence"),
    [
        ([[1], [2]], [[2], [1]], True, False),
        ([[1], [1], [2]], [[1], [2]], False, False),  # a bag counts
        ([[1], [1], [2]], [[1], [2], [2]], False, False),
        ([[1]], [[1.0]], True, True),
        ([[1]], [["1"]], False, False),
        ([[None]], [[""]], False, False),
        ([[None]], [[None]], True, True),
        ([[None]], [[0]], False, False),
        ([[1 / 3]], [[0.33333334]], True, True),
        ([[1 / 3]], [[0.3334]], False, False),
        ([[0.1 + 0.2]], [[0.3]], True, True),
        ([[2.0000000000004]], [[2]], True, True),
        ([[1, 2]], [[2, 1]], False, False),  # the order of columns counts
        ([[1, 2]], [[1]], False, False),
        ([[1.5, "b"], [1.5000000001, "a"]], [[1.5, "a"], [1.5000000001, "b"]], True, True),
        ([["a", 0.5], ["b", 0.25]], [["b", 0.5], ["a", 0.25]], False, False),
        ([[float("inf")]], [[float("inf")]], True, True),
        ([[{"blob": "00"}]], [["00"]], False, False),
        ([["a"]], [["A"]], False, False),
        ([["a"]], [["a "]], False, False),
        ([], [], True, True),
        ([[10**18]], [[10**18 + 1]], False, False),
        ([[True]], [[1]], True, True),
    ],
)
def test_when_two_results_are_equal(mine: Any, theirs: Any, bag: bool, sequence: bool) -> None:
    assert same(mine, theirs, ordered=False) == same(theirs, mine, ordered=False) == bag
    assert same(mine, theirs, ordered=True) == (sequence if mine != [[1.5, "b"], [1.5000000001, "a"]] else False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a from t order by a", True),
        ("select a from t ORDER\n BY a", True),
        ("select a from (select a from t order by a)", False),
        ("select 'order by' from t", False),
        ("select a from t -- order by a", False),
        ("select a /* order by */ from t", False),
        ("select a from t limit 1", False),
    ],
)
def test_a_query_orders_its_rows_at_its_top_alone(text: str, expected: bool) -> None:
    assert orders(text) == expected


def test_databases_are_filled_with_what_tells_queries_apart() -> None:
    tables = tables_of(TABLES)
    text = "select a from t where b > 17 and c = 'y'"
    made = [fill(tables, text, number) for number in range(30)]
    assert made == [fill(tables, text, number) for number in range(30)]
    rows = [row for database in made for row in database[0]["rows"]]
    values = [row[1] for row in rows]
    assert all(values.count(near) > 20 for near in (16, 17, 18)) and values.count(3) < 20
    assert sum(value not in (16, 17, 18) for value in values) > len(values) / 4, "not all stand at the bound"
    assert 0.04 < sum(row[0] is None for row in rows) / len(rows) < 0.2
    assert not any(row[1] is None for row in rows)
    assert turned(made[0])[0]["rows"] == made[0][0]["rows"][::-1]


@pytest.mark.parametrize(
    "wrong",
    [
        None, [], "t", [{"name": "t"}], [{"name": "t; drop", "columns": TABLES[0]["columns"]}],
        [{"name": "t", "columns": []}], [{"name": "t", "columns": [{"name": "a", "kind": "blob", "values": [0, 1]}]}],
        [{"name": "t", "columns": [{"name": "a", "kind": "integer", "values": [0]}]}],
        [{"name": "t", "columns": TABLES[0]["columns"], "rows": [0, 0]}], [{"name": "t", "columns": 7}],
    ],
)  # fmt: skip
def test_tables_that_are_described_wrongly_are_a_bad_gold(wrong: Any) -> None:
    with pytest.raises(BadSchema):
        tables_of(wrong)
    (one,) = explain([(gold("select a from t", wrong), "select a from t")])
    assert (one.verdict.status, one.verdict.kind) == ("invalid", "bad_gold")


def test_a_gold_that_is_no_json_is_a_bad_gold() -> None:
    for text in ("", "select a from t", "[]", "{}", '{"query": 7, "tables": 7}', '{"query": null, "tables": []}'):
        (one,) = explain([(text, "select a from t")])
        assert (one.verdict.status, one.verdict.kind) == ("invalid", "bad_gold"), text


def test_what_stands_around_a_query_does_not_count() -> None:
    assert plain(" select 1 ; ") == plain("```sql\nselect 1;\n```") == "select 1"


class Said:
    """An engine that says what a test tells it to say."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)

    def map(self, jobs: list[Any], *, seconds: float | None = None) -> list[Outcome]:
        return [self.outcomes.pop(0) for _ in jobs]


def results(*rows: Any) -> Outcome:
    return Outcome("done", {"results": [{"status": "done", "rows": one} for one in rows]})


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome("lost"), ("invalid", "worker_lost")),
        (Outcome("error", detail="KeyError"), ("invalid", "bug")),
        (Outcome("time"), ("fail", "time")),
        (Outcome("memory"), ("fail", "memory")),
        (Outcome("done", {"results": [{"status": "output"}]}), ("fail", "output")),
        (Outcome("done", {"results": [{"status": "forbidden"}]}), ("fail", "forbidden")),
        (results([[1]], [[1]], [[2]], [[2]], [[2]]), ("ok", "")),
        (results([[1]], [[1]], [[2]], [[2]], [[3]]), ("fail", "wrong")),
    ],
)
def test_who_is_to_blame(outcome: Outcome, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    ready = by_execution.Gold("q", ([],) * 5, ([[1]], [[1]], [[2]], [[2]], [[2]]))
    monkeypatch.setattr(by_execution, "_golds", {("g", 0): ready})
    monkeypatch.setattr(by_execution, "workers_of", lambda name: Said(outcome))
    (one,) = explain([("g", "select 1")])
    assert (one.verdict.status, one.verdict.kind) == expected


def test_a_lost_process_says_nothing_of_a_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(by_execution, "_golds", kept)
    monkeypatch.setattr(by_execution, "workers_of", lambda name: Said(Outcome("lost"), Outcome("lost")))
    (one,) = explain([(gold("select a from t"), "select a from t")])
    assert (one.verdict.status, one.verdict.kind) == ("invalid", "worker_lost") and not kept


@pytest.mark.turns(3)
@external
@pytest.mark.slow
def test_mutants_are_verified_as_an_evaluator_verifies_them() -> None:
    """320 mutants. What is equal on 100 tables of the test's own, and on the verifier's, is right."""
    draw = random.Random(5)
    tables = [table(draw) for _ in range(100)]
    golds = [query(draw) for _ in range(64)]
    pairs = [(one, mutant(draw, one)) for one in golds for _ in range(5)]
    found = explain([(gold(one.text()), other.text()) for one, other in pairs])
    assert not [e.why for e in found if e.verdict.status == "invalid"]
    wrong = []
    for (one, other), e in zip(pairs, found, strict=True):
        own = [
            [dict(zip("abc", row)) for row in base[0]["rows"]]
            for base in by_execution._golds[e.gold or "", 0].databases
        ]
        if (e.verdict.status == "ok") == differ(one, other, [*tables, *own]):
            wrong.append((one.text(), other.text(), e.why))
    assert not wrong, f"{len(wrong)} of {len(pairs)}"
    assert 60 < sum(e.verdict.status == "ok" for e in found) < 200


@external
@pytest.mark.external("duckdb")
@pytest.mark.slow
def test_a_second_engine_says_the_same_of_every_gold() -> None:
    problems = [
        task("sql").problem(Key(seed), level=level) for level in task("sql").generator.levels for seed in range(12)
    ]
    jobs = [
        {"databases": [fill(tables_of(TABLES), p.spec["query"], n) for n in range(2)], "query": p.spec["query"]}
        for p in problems
    ]
    mine, theirs = (workers_of(name).map(jobs) for name in ("sqlite", "duckdb"))
    for job, one, other in zip(jobs, mine, theirs, strict=True):
        for a, b in zip(one.result["results"], other.result["results"], strict=True):
            assert a["status"] == b["status"] == "done", (job["query"], b)
            assert same(a["rows"], b["rows"], ordered=False), job["query"]


@pytest.mark.turns(3)
@external
@pytest.mark.slow
def test_no_problem_of_the_task_has_a_bad_gold() -> None:
    for level in task("sql").generator.levels:
        problems = [task("sql").problem(Key(seed), level=level) for seed in range(60)]
        found = by_execution.verify([(one, one.solution or "") for one in problems])
        assert {one.status for one in found} == {"ok"}, [p.prompt for p, v in zip(problems, found) if v.status != "ok"]


@external
def test_a_verdict_is_explained_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = gold("select a from t where b>14")
    reply = Shell(capsys)("verify", "explain", "--by", "sql", asked, "select a from t where b>=14", "--json")
    assert (reply.document["verdict"], reply.document["layer"]) == ("fail", "rows")
    (tmp_path / "set.jsonl").write_text(
        json.dumps({"gold": asked, "answer": "select a from t where 14<b", "label": True})
    )
    audit = Shell(capsys)("verify", "audit", tmp_path / "set.jsonl", "--by", "sql", "--json").document
    assert audit["disagreements"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, "format"),
        ("", "empty"),
        (" ;\n", "empty"),
        ("select 'a\0' from t", "format"),
        ("select" + " " * 5000 + "a from t", "format"),
    ],
    ids=["none", "empty", "a semicolon", "NUL", "long"],
)
def test_no_database_is_asked_for_what_is_no_query(
    answer: str | None, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (known,) = explain([(gold("select a from t"), "select a from t")])
    monkeypatch.setattr(by_execution, "workers_of", lambda name: pytest.fail("a database was asked"))
    assert known.verdict.status == "ok" and verdict("select a from t", answer) == ("fail", kind)


@external
def test_a_query_may_count_the_rows_that_it_makes_itself() -> None:
    counted = gold("select count(*) + 3 from t")
    three = "with recursive r(n) as (select 1 union all select n+1 from r where n<3)"
    recursive = f"{three} select count(*) + (select count(*) from t) from r"
    found = explain([(counted, recursive), (counted, "select count(*) from sqlite_master")])
    assert [one.verdict.kind for one in found] == ["", "forbidden"]
