"""Verdicts on queries that a model wrote: right if their results are those of the gold query on every database.

Each question has 48 databases of its own, of one row to some sixty. Tables are described, or stated in SQL with keys,
which every database keeps. A gold must give rows on three of them at least, not the same ones on all, and the same
whatever the order in which rows were inserted. If the gold sorts, equal values may leave the order of some rows open.
On a database where they do, order does not count; the database is left out if the open order also decides which rows
are cut off. Gold and candidate run in jobs of their own, so that no candidate reads a gold or its result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.explained import Explained
from assay.verifiers.sql.compare import Rows, same
from assay.verifiers.sql.databases import BadSchema, fill, tables_of, turned
from assay.verifiers.sql.keyed import fill_keyed
from assay.verifiers.sql.schemas import schema_of
from assay.verifiers.unfinished import unfinished

NAME = "sqlite"
DATABASES = 48
FULL = 3  # databases on which a gold must give rows
LEFT_OUT = 0.75  # largest share of the databases of several rows on which equal values may decide what is cut off
GOLD_SECONDS = 5.0  # of the processor, for a gold query on all of its databases
LONGEST = 4_000  # characters of a query
BLAME = {"forbidden": "forbidden", "time": "time", "memory": "memory", "output": "output", "error": "runtime"}


Database = list[dict[str, Any]]
Fill = Callable[[str, int], Database]
"""The database of a gold query and a number."""


@dataclass(frozen=True)
class Gold:
    """A gold query to verify against: its databases and its results on them, or why there are none.

    gold.databases[0][0]["rows"], gold.results[0]
    """

    query: str
    databases: tuple[Database, ...] = ()
    results: tuple[Rows, ...] = ()
    ordered: frozenset[int] = frozenset()  # the places of the databases on which the order of rows counts
    trouble: str = ""
    kind: str = "bad_gold"


def verify(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses to problems whose spec has `tables`, listed or as SQL, and the gold `query`."""
    golds = [gold_text(problem.spec) for problem, _ in pairs]
    answers = [find_answer(text, problem.wording) for problem, text in pairs]
    return [one.verdict for one in explain(list(zip(golds, answers, strict=True)))]


def verify_afresh(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The second oracle: the same queries on as many databases of its own."""
    golds = [gold_text(problem.spec) for problem, _ in pairs]
    answers = [find_answer(text, problem.wording) for problem, text in pairs]
    return [one.verdict for one in explain(list(zip(golds, answers, strict=True)), first=DATABASES)]


def gold_text(spec: Mapping[str, Any]) -> str:
    """The gold of a question as `explain` takes it: its tables and its query as JSON."""
    return json.dumps({"tables": spec.get("tables"), "query": spec.get("query")}, sort_keys=True)


def explain(pairs: Sequence[tuple[str, str | None]], *, first: int = 0) -> list[Explained]:
    """Judges pairs of a gold, as `gold_text` writes it, and a query, on the databases from number `first` on."""
    golds = {text: _gold(text, first) for text in dict.fromkeys(text for text, _ in pairs)}
    queries = [None if answer is None else plain(answer) for _, answer in pairs]
    asked = [i for i, ((gold, _), query) in enumerate(zip(pairs, queries)) if not golds[gold].trouble and _fine(query)]
    jobs = [{"databases": list(golds[pairs[i][0]].databases), "query": queries[i]} for i in asked]
    outcomes = dict(zip(asked, workers_of(NAME).map(jobs) if jobs else [], strict=True))
    return [
        _explained(golds[gold], gold, query, outcomes.get(i))
        for i, ((gold, _), query) in enumerate(zip(pairs, queries))
    ]


def plain(answer: str) -> str:
    """A query without spaces around it, without the semicolon at its end, and without a fence."""
    text = answer.strip()
    fenced = re.fullmatch(r"```(?:sql|sqlite)?\s*(.*?)\s*```", text, re.DOTALL | re.IGNORECASE)
    return (fenced[1] if fenced else text).strip().removesuffix(";").rstrip()


def _fine(query: str | None) -> bool:
    return query is not None and 0 < len(query) <= LONGEST and "\0" not in query


_golds: dict[tuple[str, int], Gold] = {}
_MOST_GOLDS = 4_096


def _gold(text: str, first: int) -> Gold:
    """The gold of a text; kept, unless a process was lost."""
    if (text, first) not in _golds:
        found = _prepared(text, first)
        if found.kind != "bad_gold":
            return found
        if len(_golds) >= _MOST_GOLDS:
            _golds.pop(next(iter(_golds)))
        _golds[text, first] = found
    return _golds[text, first]


def _prepared(text: str, first: int) -> Gold:
    try:
        described = json.loads(text)
        query, fill_one = plain(str(described["query"] or "")), _filling(described["tables"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = str(error) if isinstance(error, BadSchema) else 'expected JSON with "tables" and "query"'
        return Gold("", trouble=why)
    if not _fine(query):
        return Gold(query, trouble="the gold query is empty or too long")
    if any("\ud800" <= character <= "\udfff" for character in query):
        return Gold("", trouble="the gold query has half a character, which no database takes")
    return _examined(query, fill_one, range(first, first + DATABASES))


def _filling(described: Any) -> Fill:
    """How databases are filled: by the keys of tables that are stated in SQL, or as a list of tables says."""
    if isinstance(described, str):
        schema = schema_of(described)
        return partial(fill_keyed, schema)
    return partial(fill, tables_of(described))


def _examined(query: str, fill_one: Fill, numbers: range) -> Gold:
    """The gold with its databases, or with the trouble that makes it no gold."""
    databases = [fill_one(query, number) for number in numbers]
    for tables in zip(*databases, strict=True):
        if not any(table["rows"] for table in tables):
            return Gold(query, trouble=f"no row of the table {tables[0]['name']} was found that keeps its constraints")
    outcomes = workers_of(NAME).map(
        [{"databases": arrangement, "query": query} for arrangement in (databases, list(map(turned, databases)))],
        seconds=GOLD_SECONDS,
    )
    for outcome in outcomes:
        if outcome.status == "lost":
            return Gold(query, trouble=outcome.detail, kind="worker_lost")
        if outcome.status != "done":
            return Gold(query, trouble=f"the gold query ends with {outcome.status}")
        if (last := outcome.result["results"][-1])["status"] != "done":
            return Gold(query, trouble=f"the gold query ends with {last['status']} ({last.get('detail', '')})")
    mine, theirs = ([result["rows"] for result in outcome.result["results"]] for outcome in outcomes)
    asked = orders(query)
    kept = [i for i in range(DATABASES) if same(mine[i], theirs[i], ordered=False)]
    if trouble := _of_order(query, databases, kept):
        return Gold(query, trouble=trouble)
    ordered = {i: asked and same(mine[i], theirs[i], ordered=True) for i in kept}
    several = [i for i in kept if not same(mine[i], mine[i][::-1], ordered=True)]
    if asked and several and not any(ordered[i] for i in several):
        return Gold(query, trouble="what the gold query sorts by leaves the order of its rows open on all databases")
    full = [i for i in kept if _says_something(mine[i])]
    if len(full) < FULL:
        return Gold(query, trouble=f"the gold query gives no rows on {DATABASES - len(full)} of {DATABASES} databases")
    if all(same(mine[full[0]], mine[i], ordered=ordered[i]) for i in full):
        return Gold(query, trouble="the gold query gives the same rows on all databases")
    counts = frozenset(index for index, i in enumerate(kept) if ordered[i])
    return Gold(query, tuple(databases[i] for i in kept), tuple(mine[i] for i in kept), counts)


def _of_order(query: str, databases: Sequence[Database], kept: Sequence[int]) -> str:
    """Why no answer can be verified against a gold; "" if one can.

    On the databases that were not kept, the rows of the gold depend on the order of insertion.
    """
    several = [i for i, tables in enumerate(databases) if any(len(table["rows"]) > 1 for table in tables)]
    left_out = len(databases) - len(kept)
    if left_out and (not _cuts(query) or left_out > LEFT_OUT * len(several)):
        return "the gold query's result depends on the order in which rows were inserted"
    return ""


def _says_something(rows: Rows) -> bool:
    """Whether a result has a cell that is neither NULL nor the 0 of a count of nothing."""
    return any(cell is not None and (len(rows) > 1 or cell != 0) for row in rows for cell in row)


def _bare(query: str) -> str:
    """A query without its texts, quoted names and comments."""
    return re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", " ", query, flags=re.DOTALL)


def _cuts(query: str) -> bool:
    """Whether a query takes the first of rows that it sorts, so that equal values leave open which these are."""
    text = _bare(query)
    return bool(
        re.search(r"\border\s+by\b", text, re.IGNORECASE) and re.search(r"\b(limit|over)\b", text, re.IGNORECASE)
    )


def orders(query: str) -> bool:
    """Whether a query orders its rows, at its top and not only within parentheses."""
    depth, top = 0, []
    for char in _bare(query):
        depth += {"(": 1, ")": -1}.get(char, 0)
        top.append(char if depth == 0 else " ")
    return re.search(r"\border\s+by\b", "".join(top), re.IGNORECASE) is not None


def _explained(gold: Gold, text: str, query: str | None, outcome: Outcome | None) -> Explained:
    if gold.trouble:
        verdict, layer = Verdict.invalid(gold.kind, gold.trouble), "gold"
    elif query is None:
        verdict, layer = Verdict.fail("format", "no marked answer"), "text"
    elif not query:
        verdict, layer = Verdict.fail("empty"), "text"
    elif outcome is None:
        verdict, layer = Verdict.fail("format", f"longer than {LONGEST} characters, or with a NUL"), "text"
    elif (ended := unfinished(outcome, NAME)) is not None:
        verdict, layer = replace(ended, answer=query), "engine"
    else:
        verdict, layer = _decided(gold, query, outcome.result["results"])
    why = verdict.detail or verdict.kind or f"the rows of the gold on {len(gold.results)} databases"
    return Explained(verdict, text, query, "", layer, why)


def _decided(gold: Gold, query: str, results: Sequence[Mapping[str, Any]]) -> tuple[Verdict, str]:
    for place, (rows, found) in enumerate(zip(gold.results, results)):
        if found["status"] != "done":
            detail = f"database {place + 1}: {found['status']} {found.get('detail', '')}".rstrip()
            return Verdict.fail(BLAME[found["status"]], detail, query), "engine"
        if not same(rows, found["rows"], ordered=place in gold.ordered):
            return Verdict.fail("wrong", f"other rows on database {place + 1} of {len(gold.results)}", query), "rows"
    return Verdict.ok(query), "rows"
