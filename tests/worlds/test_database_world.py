"""The world with a database: what statements may do, what is cut, what is left; and the questions of `sql-tool`."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from talking import said

from assay.rng import Key
from assay.tasks import task
from assay.tasks.worked import turns
from assay.types import Origin, Problem
from assay.worlds import Act, Call, Play, Reply, World
from assay.worlds.database import Filled, database

TASK = task("sql-tool")
ROWS = [(number, "xyz"[number % 3]) for number in range(30)]
WORLD = database(lambda spec: [Filled("t", (("a", "integer"), ("c", "text")), ROWS)])
ENDLESS = "with recursive n(x) as (select 1 union all select x+1 from n)"


def opened(world: World = WORLD, spec: Any = None) -> Play:
    play = world.start(spec or {}, Key(0))
    play.open()
    return play


def sent(play: Play, *statements: str) -> list[Reply]:
    return [play.step(Act("policy", "", (Call("sql", {"statement": one}),))) for one in statements]


def told(play: Play, *statements: str) -> list[str]:
    return [said(reply) for reply in sent(play, *statements)]


def test_statements_read_and_write_and_what_they_change_stays() -> None:
    assert told(
        opened(),
        "select count(*), sum(a) from t where c='x'",
        "update t set a=a+1 where c='x'",
        "select sum(a) from t where c='x'",
        "create table v as select 1 a union all select null",
        "select a, 'q' from v",
        "delete from v",
        "create index i on t(a)",
        "alter table v rename to w",
        "insert into w values (7) returning a",
        "drop table w",
    ) == [
        "10,135",
        "10 rows changed",
        "145",
        "0 rows changed",
        "1,q\nNULL,q",
        "2 rows changed",
        *["0 rows changed"] * 2,
        "7",
        "0 rows changed",
    ]


def test_long_results_are_cut() -> None:
    play = opened()
    (rows,) = told(play, "select a from t")
    assert rows == "\n".join(map(str, range(20))) + "\n[cut]"
    (cells,) = told(play, "select printf('%.900d', 0), printf('%.900d', 0)")
    assert cells == "0" * 900 + "," + "0" * 99 + " [cut]"


@pytest.mark.parametrize(
    "statement",
    [
        "attach 'x' as y",
        "attach ':memory:' as y",
        "select load_extension('x')",
        "select readfile('/etc/passwd')",
        "select random()",
        "select date('now')",
        "select current_time",
        "pragma writable_schema = 1",
        "pragma max_page_count = 100000000",
        "begin",
        "savepoint s",
        "vacuum into '/tmp/x'",
        "create temp table q(a)",
        "create trigger g after insert on t begin select 1; end",
        "create virtual table v using fts5(a)",
        "insert into sqlite_master values (1, 2, 3, 4, 5)",
        "select 1; select 2",
        "nonsense",
        "select '\ud800'",
        "select '\0'",
        f"{ENDLESS} select max(x) from n",
        f"{ENDLESS} insert into t select x, 'x' from n",
        f"{ENDLESS} select group_concat(printf('%.900d', x)) from n",
        "insert into t select a.a, printf('%.1900d', 1) from t a, t b, t c",
        "select " + "(" * 200 + "1" + ")" * 200,
        "select " + "1," * 5_000 + "1",
    ],
)
def test_what_is_not_allowed_is_an_error_of_the_policys_and_changes_nothing(statement: str) -> None:
    play = opened()
    (reply,) = sent(play, statement)
    assert reply.failed and not reply.fault and said(reply)
    assert told(play, "select count(*), sum(a) from t") == ["30,435"]


def test_no_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told(opened(), "attach 'x' as y", "vacuum into 'z'", "create table q(a)")
    assert list(tmp_path.iterdir()) == []


def test_a_play_goes_on_from_what_it_saved_and_the_limits_with_it() -> None:
    first = opened()
    told(first, "delete from t where a > 4", "create view v as select sum(a) s from t")
    saved = first.save()
    assert saved is not None and WORLD.resume is not None
    told(first, "delete from t")
    second = WORLD.resume({}, Key(0), saved)
    assert told(second, "select s from v", "attach 'x' as y") == ["10", "not allowed: x"]
    assert sent(second, f"{ENDLESS} select max(x) from n")[0].failed
    for play in (first, second):
        play.close()
        play.close()


# The task


def truly(problem: Problem) -> str:
    """The answer by a database of ours, from the words of the question in compact wording."""
    asked = re.fullmatch(r"db (a|b|a\*b)( u|/c)?(?: \+(\d) (\w))?\|(.+)", str(problem.prompt))
    assert asked is not None
    pick, kind, add, word, where = asked.groups()
    base = sqlite3.connect(":memory:")
    base.execute("create table t (a, b, c)")
    base.execute("create table u (c, d)")
    base.executemany("insert into t values (?, ?, ?)", problem.spec["rows"]["t"])
    base.executemany("insert into u values (?, ?)", problem.spec["rows"]["u"])
    if add:
        base.execute("update t set b = b + ? where c = ?", (int(add), word))
    rows = base.execute(f"select c, {pick} from t where {where}").fetchall()
    pairs = Counter(c for c, _ in problem.spec["rows"]["u"])
    sums: dict[str, int] = Counter()
    for c, value in rows:
        sums[c] += (value or 0) * (pairs[c] if kind == " u" else 1)
    seen = {c for c, value in rows if value is not None}
    return str(max(sums[c] for c in seen) if kind == "/c" else sum(sums.values()))


@pytest.mark.parametrize("level", TASK.generator.levels)
def test_the_answers_are_those_of_another_database(level: int) -> None:
    for seed in range(40):
        problem = TASK.problem(Key(seed, "base"), level=level)
        assert (problem.solution or "").rpartition("#")[2] == truly(problem)


@pytest.mark.parametrize("wording", ["compact", "natural"])
@pytest.mark.parametrize("level", TASK.generator.levels)
def test_the_worked_solution_reaches_the_answer(wording: str, level: int) -> None:
    for seed in range(5):
        problem = TASK.problem(Key(seed), level=level, wording="compact" if wording == "compact" else "natural")
        pieces = turns(problem, TASK)
        assert [origin == Origin.ENV for _, origin in pieces] == [i % 2 == 1 for i in range(3 if level < 4 else 5)]
        assert TASK.verify(problem, problem.solution or "").status == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("level", TASK.generator.levels)
def test_a_sum_is_not_guessed(level: int) -> None:
    """A constant, and a number of the question."""
    asked = [TASK.problem(Key(seed, "blind"), level=level) for seed in range(400)]
    answers = [(problem.solution or "").rpartition("#")[2] for problem in asked]
    assert Counter(answers).most_common(1)[0][1] / 400 < 0.05
    assert sum(answer in re.findall(r"\d+", str(one.prompt)) for one, answer in zip(asked, answers)) / 400 < 0.05


def judged(problem: Problem, *statements: str) -> str:
    assert TASK.world is not None
    play = opened(TASK.world, problem.spec)
    told(play, *statements)
    verdicts = play.judge()
    return verdicts["policy"].status if verdicts else "by its text"


def test_what_is_left_of_the_table_decides_where_rows_were_to_be_changed() -> None:
    problem = TASK.problem(Key(0), level=4)
    change, query = re.findall(r"\[(.*?)\]", problem.solution or "")
    assert judged(problem, change, query) == "by its text"
    assert judged(problem, "update t set b = b", change) == "by its text"
    for statements in ([query], [change, change], [change, "insert into t values (1, 1, 'x')"], ["drop table t"]):
        assert judged(problem, *statements) == "fail"
    assert judged(problem, "drop table t", f"create view t as {ENDLESS} select x a, x b, x c from n") == "fail"
    other = dataclasses.replace(problem, spec={**problem.spec, "level": 1})
    assert judged(other, "drop table t") == "by its text"
