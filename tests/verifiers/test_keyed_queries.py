"""Queries on tables with keys: what SQL states is read, every database keeps it, right queries pass and wrong ones do
not."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from schemas_by_hand import CASES, LIBRARY, SCHEMAS, SCHOOL, SHOP, Case

from assay.externals import workers_of
from assay.externals.sqlite import answer
from assay.verifiers.sql.by_execution import explain
from assay.verifiers.sql.compare import same
from assay.verifiers.sql.constants import constants_of
from assay.verifiers.sql.databases import BadSchema
from assay.verifiers.sql.keyed import fill_keyed
from assay.verifiers.sql.schemas import Reference, schema_of

external = pytest.mark.external("sqlite")


def verdicts(tables: str, gold: str, *answers: str) -> list[tuple[str, str, str]]:
    found = explain([(json.dumps({"tables": tables, "query": gold}), answer) for answer in answers])
    return [(one.verdict.status, one.verdict.kind, one.why) for one in found]


# --- reading ------------------------------------------------------------------------------------------------


def test_keys_and_types_are_read_in_every_spelling() -> None:
    school = {table.name: table for table in schema_of(SCHOOL).tables}
    assert list(school) == ["teacher", "course", "student", "enrolment", "exam"]
    assert school["teacher"].unique == (("id",), ("name",))
    assert school["teacher"].references == (Reference(("boss",), "teacher", ("id",)),)
    assert school["enrolment"].unique == (("student_id", "course_code", "year"),)
    three = ("student_id", "course_code", "year")
    assert school["exam"].references == (Reference(three, "enrolment", three),)
    assert [column.null for column in school["course"].columns] == [False, True, False, True]
    assert [column.kind for column in school["enrolment"].columns] == ["integer", "text", "real", "integer"]
    library = {table.name: table for table in schema_of(LIBRARY).tables}
    assert library["loan"].references[1] == Reference(("member_id",), "member", ("id",)), "its primary key"
    assert [column.kind for column in library["member"].columns] == ["integer", "text", "text", "numeric"], "a date"
    shop = {table.name: table for table in schema_of(SHOP).tables}
    assert shop["customers"].columns[1].examples == ("retail", "trade")
    assert shop["products"].columns[2].name == "Unit Price"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "makes no table"),
        ("select 1", "makes no table"),
        ("create table t (a int", "incomplete input"),
        ("create table t (a int) engine=InnoDB", "syntax error"),
        ("create table t (a int); attach 'x.db' as x", "may be made"),
        ("create table t (a int); drop table t", "may be made"),
        ("create view v as select 1 as a", "may be made"),
        ("create table t (a int); create trigger x after insert on t begin select 1; end", "may be made"),
        ("create virtual table t using fts5(a)", "may be made"),
        ("create table t (a int); insert into t values (random())", "may be made"),
        ("create table t (a text); insert into t values (date('now'))", "may be made"),
        ("create table t (a text default current_timestamp, b); insert into t (b) values (1)", "may be made"),
        ("create table t as with recursive r(n) as (select 1 union all select n+1 from r) select n from r", "read"),
        ("create table t (a int, foreign key (a) references t (b))", "lacks"),
        ("create table p (a int, b int, primary key (a, b)); create table t (a int references p)", "lacks"),
        ("create table t (a int, b as (a + 1) references t (a))", "computed"),
        (
            "create table a (x int primary key, y int not null references b); "
            "create table b (x int primary key, y int not null references a)",
            "refer to one another",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_clearly(text: str, why: str) -> None:
    with pytest.raises(BadSchema, match="(?i)" + why):
        schema_of(text)
    if "recursive" not in text:
        ((status, kind, said),) = verdicts(text, "select a from t", "select a from t")
        assert (status, kind) == ("invalid", "bad_gold") and why.lower() in said.lower()


@external
def test_a_check_that_no_row_keeps_is_the_gold_s_fault() -> None:
    ((status, kind, said),) = verdicts(
        "create table t (a int not null check (a < 0 and a > 0))", "select a from t", "select 1"
    )
    assert (status, kind) == ("invalid", "bad_gold") and "keeps its constraints" in said


def test_constants_belong_to_the_column_that_they_are_compared_with() -> None:
    query = """SELECT t1.Name FROM t AS t1 WHERE t1.age >= 18 AND "France" = t1.country AND lower(city) LIKE 'p%'
        AND year BETWEEN 1990 AND 2000 AND size NOT IN (1, -2) AND strftime('%Y', born) = '1970' -- age = 77
        GROUP BY name HAVING count(*) > 3"""
    found = constants_of(query, {"Name", "age", "country", "city", "year", "size", "born"})
    assert found.of == {
        "age": [18.0], "country": ["France"], "city": ["p%"], "year": [1990.0, 2000.0], "size": [1.0, -2.0],
        "born": ["1970"],
    }  # fmt: skip
    assert found.free == ["%Y", 3.0]


# --- databases ----------------------------------------------------------------------------------------------


def broken(schema_text: str, database: list[dict[str, Any]]) -> list[Any]:
    """What SQLite says against a database, into which its rows are inserted with all keys enforced."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        base.executescript("".join(f"{sql};" for table in database for sql in table["create"]))
        base.execute("pragma foreign_keys = on")
        base.execute("begin")
        base.execute("pragma defer_foreign_keys = on")
        for table in database:
            names = ", ".join(f'"{name}"' for name, _ in table["columns"])
            marks = ", ".join("?" * len(table["columns"]))
            base.executemany(f'insert into "{table["name"]}" ({names}) values ({marks})', table["rows"])
        base.execute("commit")
        return base.execute("pragma foreign_key_check").fetchall() + [
            row for row in base.execute("pragma integrity_check") if row != ("ok",)
        ]


TYPES = ("int", "INTEGER", "varchar(12)", "TEXT", "real", "decimal(8,2)", "date", "DATETIME", "bool", "", "year")
CHECKS = ("{0} >= 3", "{0} in ('a', 'b', 7)", "{0} between 2 and 9", "{0} is null or length({0}) < 30", "{0} <> 4")


@st.composite
def schema_texts(draw: Any) -> str:
    """Tables with keys of every kind: single, composite, unique, to itself, to later tables, through quoted names."""
    count = draw(st.integers(1, 5))
    names = draw(st.permutations(["t", "Order", "a b", "süd", "group", "x.y"]))[:count]
    keys = [draw(st.sampled_from([("k",), ("k", "l"), ()])) for _ in names]
    texts = []
    for name, key in zip(names, keys, strict=True):
        parts = [
            f'"{column}" {draw(st.sampled_from(TYPES[:4]))}{draw(st.sampled_from([" not null", ""]))}' for column in key
        ]
        for number in range(draw(st.integers(1, 4))):
            column = f'"c{number} of it"'
            part = f"{column} {draw(st.sampled_from(TYPES))}{draw(st.sampled_from(['', '', ' NOT NULL', ' unique']))}"
            check = draw(st.sampled_from(["", "", *CHECKS]))
            parts.append(part + (f" check ({check.format(column)})" if check else ""))
        rules = [f"primary key ({', '.join(key)})"] if key else []
        for number, (parent, of) in enumerate(zip(names, keys, strict=True)):
            if of and draw(st.integers(0, 2)) == 0:
                own = [f"r{number}{one}" for one in of]
                null = draw(st.sampled_from(["", "", " not null"]))
                parts += [f"{one} int{null}" for one in own]
                rules.append(f'foreign key ({", ".join(own)}) references "{parent}" ({", ".join(of)})')
                rules += [f"unique ({', '.join(own)})"] if draw(st.integers(0, 3)) == 0 else []
        tail = " without rowid" if key and draw(st.integers(0, 5)) == 0 else ""
        texts.append(f'create table "{name}" ({", ".join(parts + rules)}){tail};')
    return "\n".join(texts)


@settings(max_examples=60, deadline=None)
@given(schema_texts(), st.integers(0, 47))
@pytest.mark.slow
def test_every_database_keeps_every_constraint_that_is_stated(text: str, number: int) -> None:
    try:
        schema = schema_of(text)
    except BadSchema as error:
        assert "refer to one another" in str(error)
        event("a circle that cannot be filled")
        return
    query = (
        f'select * from {", ".join(f"{chr(34)}{table.name}{chr(34)}" for table in schema.tables)} where "c0 of it" > 4'
    )
    database = fill_keyed(schema, query, number)
    assert broken(text, database) == []
    assert json.loads(json.dumps(database, allow_nan=False)) == database == fill_keyed(schema, query, number)
    event("all tables have rows" if all(table["rows"] for table in database) else "an empty table")


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_databases_of_usual_schemas_are_full_and_join(name: str) -> None:
    schema = schema_of(SCHEMAS[name])
    query = " ".join(f"select * from {table.name};" for table in schema.tables)
    made = [fill_keyed(schema, query, number) for number in range(12)]
    for database in made:
        assert broken(SCHEMAS[name], database) == []
        assert all(table["rows"] for table in database)
    cells = [(table, row) for database in made for table in database for row in table["rows"]]
    for table in schema.tables:
        for one in table.references:
            place = [column.name for column in table.columns].index(one.columns[0])
            found = [row[place] for described, row in cells if described["name"] == table.name]
            assert len(found) - found.count(None) > len(found) / 2, "references mostly refer"
            assert (None in found) == table.column(one.columns[0]).null, "and are NULL where they may be"


def test_a_circle_is_filled_where_a_reference_may_be_null() -> None:
    text = """create table town (id integer primary key, mayor int references person (id));
        create table person (id integer primary key, home int not null references town (id));"""
    made = [fill_keyed(schema_of(text), "select mayor from town, person", number) for number in range(6)]
    assert all(broken(text, database) == [] for database in made)
    mayors = [row[1] for database in made for row in database[0]["rows"]]
    assert 0 < mayors.count(None) < len(mayors) / 2


def test_a_row_that_must_refer_to_its_own_table_refers_to_itself_first() -> None:
    text = "create table t (id integer primary key, up int not null references t (id))"
    database = fill_keyed(schema_of(text), "select up from t", 0)
    assert broken(text, database) == [] and len(database[0]["rows"]) >= 8


# --- verdicts -----------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@external
@pytest.mark.parametrize("case", CASES, ids=map(str, range(len(CASES))))
def test_right_queries_pass_and_wrong_ones_fail(case: Case) -> None:
    tables = SCHEMAS[case.schema]
    found = verdicts(tables, case.gold, case.gold, *case.right, *case.wrong)
    expected = ["ok"] * (1 + len(case.right)) + ["fail"] * len(case.wrong)
    assert [status for status, _, _ in found] == expected, [why for _, _, why in found]
    assert {kind for _, kind, _ in found} <= {"", "wrong"}


@external
@pytest.mark.parametrize(
    ("gold", "why"),
    [
        ("select title from book limit 1", "depends on the order"),
        ("select title, member_id from book join loan using (book_id) group by book.book_id", "depends on the order"),
        ("select title from book order by 1 = 1 limit 1", "depends on the order"),
        ("select title from book order by 'x'", "leaves the order of its rows open"),
        ("select title from book where title = 'x' and title = 'y'", "gives no rows"),
        ("select title from book where price > strftime('%Y', 'now')", "forbidden"),
        ("select title from books", "ends with error"),
        ("select title from book where title <> '\ud800'", "half a character"),
    ],
)
@pytest.mark.slow
def test_golds_that_leave_their_rows_open_are_refused(gold: str, why: str) -> None:
    ((status, kind, said),) = verdicts(LIBRARY, gold, gold)
    assert (status, kind) == ("invalid", "bad_gold") and why in said


@external
@pytest.mark.slow
def test_a_gold_at_the_edge_is_verified_or_refused_and_never_an_error() -> None:
    """Constants and examples that no number of SQLite holds, in the gold and in what makes the tables."""
    golds = ["select a from t where a > 1e300 or a < 9", "select a from t where a > 99999999999999999999999"]
    for rows in ("(9e999), (-9e999)", "(9223372036854775807), (-9223372036854775808)", "(x'00'), (null), ('ü')"):
        for gold in golds:
            tables = f"create table t (a int); insert into t values {rows}"
            ((status, kind, _),) = verdicts(tables, gold, gold)
            assert (status, kind) in (("ok", ""), ("invalid", "bad_gold"))


@external
def test_equal_values_leave_the_order_of_their_rows_open_and_no_other() -> None:
    gold = "select title from book order by pages"
    free = "select title from book order by pages, title desc"
    assert [one[0] for one in verdicts(LIBRARY, gold, free, "select title from book order by price")] == ["ok", "fail"]


CLOCK = [
    "select strftime('%Y', 'now')", "select date('NOW')", "select date()", "select strftime('%Y')",
    "select time('no' || 'w')",
    "select datetime(cast(x'6e6f77' as text))", "select datetime(x'6e6f77')", "select date('now' || char(0) || 'x')",
    "select julianday(' now ')", "select unixepoch()", "select unixepoch('subsec')", "select current_timestamp",
    "select CURRENT_DATE", "select current_time", "select date('2020-01-01', 'localtime')",
    "select datetime('2020-01-01', '+1 day', 'UTC')", "select timediff('2020-01-01', 'now')",
    "select date(substr('know', 2))", "select strftime(null, 'now')",
]  # fmt: skip


@external
def test_no_query_reads_the_clock_or_the_time_zone() -> None:
    found = verdicts(LIBRARY, "select name from author where born > 3", *CLOCK)
    kinds = {query: kind for (_, kind, _), query in zip(found, CLOCK, strict=True)}
    lacking = {"select unixepoch()", "select unixepoch('subsec')", "select timediff('2020-01-01', 'now')"}
    assert {kinds[query] for query in lacking} <= {"forbidden", "runtime"}, "older SQLites have no such function"
    assert {kind for query, kind in kinds.items() if query not in lacking} == {"forbidden"}


def test_functions_of_dates_compute_with_times_that_are_given() -> None:
    """The values are those of the calendar: 2020 is a leap year, and 1 January 2000 was a Saturday."""
    query = """select strftime('%Y', '2012-08-05'), date('2020-02-28', '+1 day'), date('2021-02-28', '+1 day'),
        strftime('%w', '2000-01-01'), julianday('2000-01-02') - julianday('2000-01-01'), date(null),
        time('12:30', '+45 minutes'), date('rubbish'), datetime('2020-01-01 10:00:00', 'start of month', '-1 second')"""
    found = answer({"databases": [[]], "query": query}, lambda _: None)
    expected = ["2012", "2020-02-29", "2021-03-01", "6", 1.0, None, "13:15:00", None, "2019-12-31 23:59:59"]
    assert found["results"] == [{"status": "done", "rows": [expected]}]


@pytest.mark.slow
def test_calls_of_functions_of_dates_count_for_the_budget_of_a_query() -> None:
    many = (
        "with recursive r(n) as (select 1 union all select n+1 from r where n < {}) "
        "select max(date('2020-01-0' || n % 9)) from r"
    )
    statuses = [
        answer({"databases": [[]], "query": many.format(n)}, lambda _: None)["results"][0]["status"]
        for n in (9, 90_000)
    ]
    assert statuses == ["done", "time"]


@external
@pytest.mark.external("duckdb")
@pytest.mark.slow
def test_a_second_engine_finds_the_same_rows() -> None:
    """DuckDB does not know that a column depends on the key that rows are grouped by: such queries are errors."""
    texts = [(case.schema, case.gold) for case in CASES]
    jobs = [
        {"databases": [fill_keyed(schema_of(SCHEMAS[name]), query, number) for number in (0, 2)], "query": query}
        for name, query in texts
    ]
    mine, theirs = (workers_of(name).map(jobs) for name in ("sqlite", "duckdb"))
    compared = 0
    for (_, query), one, other in zip(texts, mine, theirs, strict=True):
        for a, b in zip(one.result["results"], other.result["results"], strict=False):
            if b["status"] == "done" and "LIMIT" not in query:
                assert same(a["rows"], b["rows"], ordered=False), query
                compared += 1
    assert compared > 20


PIECES = [
    *(
        "select",
        "from",
        "where",
        "author",
        "name",
        "born",
        "*",
        "(",
        ")",
        ",",
        "'",
        '"',
        "`",
        "count(*)",
        "group by",
        "order by",
    ),
    *(
        "limit 1",
        "'France'",
        "1",
        "-1",
        "9e999",
        "join book",
        "using (author_id)",
        "union all",
        "with x as (",
        "null",
        ";",
        "--",
    ),
    *(
        "date('now')",
        "strftime('%Y', born)",
        "\ud800",
        "\0",
        "é",
        "/*",
        "over ()",
        "x'ff'",
        "cast(x'ff' as text)",
        "values (1)",
    ),
]


@external
@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map(" ".join) | st.text(max_size=40), max_size=40
    )
)
@pytest.mark.slow
def test_no_answer_is_a_fault_of_ours(answers: list[str]) -> None:
    usual = [f"select {one}" for one in answers]
    for status, _, why in verdicts(LIBRARY, "select name from author where born > 3", *answers, *usual):
        assert status in ("ok", "fail"), why
