"""Queries that try to hang, to write, to look where nothing is to be seen, or to be right by luck: none is rewarded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.externals import workers_of
from assay.tasks.sql import TABLES
from assay.verifiers.sql import by_execution
from assay.verifiers.sql.by_execution import explain, gold_text

GOLD = "select a from t where b>14"
pytestmark = pytest.mark.external("sqlite")


def gold(text: str = GOLD, tables: Any = TABLES) -> str:
    return gold_text({"tables": tables, "query": text})


def verdict(answer: str, text: str = GOLD) -> tuple[str, str]:
    (one,) = explain([(gold(text), answer)])
    return one.verdict.status, one.verdict.kind


def failed(answer: str, text: str = GOLD) -> str:
    """The kind of the failure: an attack is the policy's fault, never a reward and never an error of ours."""
    status, kind = verdict(answer, text)
    assert status == "fail", (answer[:80], status, kind)
    return kind


ENDLESS = {  # Q01
    "recursion": "with recursive r(n) as (select 1 union all select n+1 from r) select max(n) from r",
    "recursion that writes rows": "with recursive r(n) as (select 1 union all select n+1 from r) select n from r",
    "join": f"select count(*) from {', '.join(f't t{i}' for i in range(12))}",
    "join that writes rows": f"select t0.a from {', '.join(f't t{i}' for i in range(12))}",
    "blob": "select randomblob(1000000000)",
    "zeros": "select zeroblob(1000000000)",
    "width": "select t.a from t, t x, t y where length(printf('%.*c', 900000, t.c || x.c)) > 0 and t.b > 14",
    "long text": "with recursive r(s) as (select 'x' union all select s||s from r) select max(length(s)) from r",
    "pattern": "select count(*) from t x, t y, t z, t w where printf('%.*c', 999, 'a') like '%a%a%a%a%a%a%a%a%a%a%b'",
    "concat": "select group_concat(x.c || y.c || z.c || w.c) from t x, t y, t z, t w, t v, t u",
}
WRITES = [  # Q02 and Q03
    "attach '{place}/new.db' as x", "vacuum into '{place}/new.db'", "select load_extension('{place}/new.so')",
    "select writefile('{place}/new', 'x')", "select readfile('/etc/passwd')", "pragma writable_schema=1",
    "pragma journal_mode=wal", "pragma temp_store_directory='{place}'", "drop table t", "delete from t",
    "update t set a=1", "insert into t values (1,2,'x')", "create table x as select * from t",
    "create trigger x after insert on t begin select 1; end", "create temp view x as select a from t", "detach main",
    "begin", "commit", "analyze", "alter table t rename to x", "replace into t values (1,2,'x')",
    "with x as (select 1) delete from t", "insert into t select * from t returning a", "select a from t; drop table t",
    "select a from t where b>14; select 1", "select edit('x','sh')", "select fts3_tokenizer('simple')",
]  # fmt: skip
LOOKS = [  # Q04
    "select sql from sqlite_master", "select name from sqlite_schema", "select * from sqlite_temp_master",
    "select * from main.sqlite_master", "select * from pragma_table_info('t')",
    "select * from pragma_database_list",
    "select * from dbstat", "select * from sqlite_stat1", "select * from sqlite_dbpage",
    "select * from json_each('[1]')",
    "select sqlite_version()", "select sqlite_source_id()", "select last_insert_rowid()", "select changes()",
    "select date('now')", "select strftime('%s','now')", "select random()", "select current_timestamp",
]  # fmt: skip
LUCK = [  # Q05 and Q06
    "select 42", "select null", "select a from t limit 1", "select a from t", "select b from t where b>14",
    "values (1),(2),(3)", "select 1 union select 2 union select 3 union select 16",
    "select distinct a from t where b>14",
    "select a from t where b>14 union select a from t where b>14", "select a, b from t where b>14",
    "select cast(a as text) from t where b>14", "select coalesce(a, '') from t where b>14",
    "select a+0.001 from t where b>14", "select -a from t where b>14", "select a from t where b>14 limit 100 offset 1",
    "select a from t where b>14 and a is not null", "select hex(a) from t where b>14", "select a from t where b>=14",
    "select a from t where b>14 group by a", "select a from t join u on t.c=u.c where b>14", "explain select a from t",
    "select a from t where b>14 union all select 1 where 0=1 union all select null", "",
]  # fmt: skip
GARBAGE = [
    "\0", "select a from t where b>14\0", "\u202eselect a from t where b>14", "(" * 3000 + "1" + ")" * 3000,
    "x" * 10_000_000,
    "select " + "(" * 900 + "1" + ")" * 900, "/* select a from t where b>14", "select a from t where b>14 --\0",
    "select a from t where b > 14 'open", "ｓｅｌｅｃｔ a from t where b>14", ";", ";;", "--", "select", "\ud800",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_a_query_without_end_is_stopped(name: str) -> None:
    assert failed(ENDLESS[name]) in {"time", "memory", "output", "forbidden", "wrong", "runtime"}
    assert verdict(GOLD) == ("ok", ""), "and the next one is verified as ever"


@pytest.mark.slow
def test_the_place_where_a_query_is_stopped_does_not_depend_on_the_machine() -> None:
    """Instructions are counted, not seconds: one query stays below the budget, one a little longer does not."""
    counted = "with recursive r(n) as (select 1 union all select n+1 from r where n<{}) select max(n) from r"
    assert failed(counted.format(10_000)) == "wrong"
    assert failed(counted.format(10_000_000)) == "time"


@pytest.mark.parametrize("query", WRITES)
def test_nothing_is_written_and_nothing_else_is_read(query: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    assert failed(query.replace("{place}", str(tmp_path))) in {"forbidden", "runtime"}
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("query", LOOKS)
def test_only_the_tables_of_the_question_can_be_read(query: str) -> None:
    assert failed(query) in {"forbidden", "runtime"}


@pytest.mark.parametrize("query", LUCK)
def test_a_guess_is_not_right_on_every_database(query: str) -> None:
    assert failed(query) in {"wrong", "empty"}


@pytest.mark.parametrize("query", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_gets_a_verdict(query: str) -> None:
    assert failed(query) in {"format", "runtime", "empty", "forbidden", "wrong"}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t WHERE b > 14 -- a comment",
        "select T.A as x from T where 14 < t.b;",
        "with r as (select * from t where b>14) select a from r",
        "select a from (select * from t) where not b<=14",
        "select a from t where b>14 order by a desc",
        "select a*1.0 from t where b between 15 and 99",
        "/* first */ select a from t where b in (select b from t where b>14)",
    ],
)
def test_other_words_for_the_same_are_right(query: str) -> None:
    assert verdict(query) == ("ok", "")


def test_an_order_that_is_asked_for_counts() -> None:
    asked = "select c, max(b) from t group by c order by c"
    assert verdict("select c, max(b) as m from t group by c order by 1 asc", asked) == ("ok", "")
    assert failed("select c, max(b) from t group by c order by c desc", asked) == "wrong"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select a from t where b>99", "gives no rows"),
        ("select a from missing", "ends with error"),
        ("delete from t", "ends with forbidden"),
        ("select random() from t", "ends with forbidden"),
        ("select a from t limit 1", "depends on the order"),
        ("select 42", "same rows on all databases"),
        ("select count(*) from t where b>99", "gives no rows"),
        ("select max(a) from t where b>99", "gives no rows"),
        ("with recursive r(n) as (select 1 union all select n+1 from r) select max(n) from r", "ends with time"),
        ("", "empty or too long"),
    ],
)
def test_a_gold_that_cannot_be_verified_by_is_refused(query: str, words: str) -> None:
    (one,) = explain([(gold(query), query)])
    assert (one.verdict.status, one.verdict.kind) == ("invalid", "bad_gold")
    assert words in one.why


def test_no_gold_is_near_the_query_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job of a candidate holds its databases and its own query: no gold, no result of a gold."""
    jobs: list[dict[str, Any]] = []
    real = workers_of("sqlite")

    class Listening:
        def map(self, asked: list[dict[str, Any]]) -> Any:
            jobs.extend(asked)
            return real.map(asked)

    explain([(gold(), GOLD)])
    monkeypatch.setattr(by_execution, "workers_of", lambda name: Listening())
    assert verdict("select 1") == ("fail", "wrong")
    (job,) = jobs
    assert set(job) == {"databases", "query"} and job["query"] == "select 1" and "14" not in job["query"]


@pytest.mark.slow
def test_after_two_hundred_attacks_nothing_is_left() -> None:
    workers_of("sqlite").map([{"databases": [], "query": ""}] * 4)
    before = len(list(Path("/proc/self/fd").iterdir()))
    attacks = [text.replace("{place}", "/nowhere") for text in (*WRITES, *LOOKS, *LUCK)] * 3
    found = explain([(gold(), text) for text in attacks])
    assert len(found) > 200 and {one.verdict.status for one in found} == {"fail"}
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 6, "no more than the streams of two processes"
