"""Rows of data for which a verifier can be built, why it cannot for the others, and how long it may delay a step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from assay.host.processor import cores
from assay.tasks.data.answers import Trouble
from assay.types import Problem

Json = dict[str, Any]
ENDLESS = 100  # answers that never end, by which the delay of a step is told


def verified(problems: Sequence[Problem], troubles: Sequence[Trouble | None]) -> Json:
    """The share of rows that can be verified, the reasons of the others with a row of each, and the longest delay.

    verified(table.problems, troubles_of(table.problems))["share"]  # 0.98
    """
    reasons: dict[str, Json] = {}
    for problem, trouble in zip(problems, troubles, strict=True):
        if trouble is not None:
            first = {"reason": trouble.reason, "count": 0, "row": problem.spec["row"], "why": trouble.why}
            reasons.setdefault(trouble.reason, first)["count"] += 1
    built = sum(trouble is None for trouble in troubles)
    return {
        "rows": len(problems),
        "built": built,
        "share": built / len(problems) if problems else None,
        "reasons": sorted(reasons.values(), key=lambda one: -one["count"]),
        "delay": _delay([problem for problem, one in zip(problems, troubles, strict=True) if one is None]),
    }


def _delay(problems: Sequence[Problem]) -> Json | None:
    """How long a step with `ENDLESS` answers that never end waits for verdicts; None where no row can be verified."""
    budgets = [seconds_of(problem) for problem in problems if not problem.spec.get("ruled")]
    if not budgets:
        return None
    budget = max(budgets)
    return {"answers": ENDLESS, "budget": budget, "cores": cores(), "seconds": budget * ENDLESS / cores()}


def seconds_of(problem: Problem) -> float:
    """The seconds that verifying one answer to a row can take in all."""
    if not problem.spec.get("tests"):
        from assay.verifiers.mathematics.against_gold import SECONDS

        return SECONDS
    from assay.verifiers.programs import Streams, read_tests

    tests = read_tests(json.loads(problem.spec["gold"]))
    calls = () if isinstance(tests, Streams) else groupby(call.entry for call in tests.tests)
    processes = len(tests.tests) if isinstance(tests, Streams) else len(list(calls))
    return min(tests.budget, processes * tests.limits.seconds)


def lines_of(found: Mapping[str, Any]) -> Iterator[str]:
    """The findings of `verified`, as lines for people."""
    yield f"  verifier     {found['built']} of {found['rows']} rows can be verified ({found['share']:.1%})"
    for one in found["reasons"]:
        yield f"! {one['count']} cannot: {one['reason']} (as row {one['row']})"
    if (delay := found["delay"]) is not None:
        product = f"{delay['budget']:g} s x {delay['answers']} / {delay['cores']} cores = {delay['seconds']:g} s"
        yield f"  delay        {delay['answers']} answers that never end take {product} at most"
