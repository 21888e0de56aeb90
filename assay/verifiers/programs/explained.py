"""Verdicts on programs with their reasons, for `assay verify explain --by programs`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assay.errors import DataError
from assay.sandbox import opened
from assay.verifiers.explained import Explained
from assay.verifiers.programs.forms import read_tests
from assay.verifiers.programs.reading import program_in
from assay.verifiers.programs.specs import Tests
from assay.verifiers.programs.tested import Outcome, outcomes_of, verdict_of


def explain(pairs: Sequence[tuple[Any, str]]) -> list[Explained]:
    """Each (tests, response) explained. Tests are asserts in Python, or a JSON object as `read_tests` takes it.

    explain([("assert f(2) == 4", "def f(x): return x * x")])
    """
    sandbox = opened()
    read = [(_tests(gold), program_in(response), response) for gold, response in pairs]
    outcomes = outcomes_of([(response if block is None else block, tests) for tests, block, response in read], sandbox)
    found = []
    for (gold, _), (_, block, response), came in zip(pairs, read, outcomes, strict=True):
        mark = "" if block is None else "the last block of code"
        layer = f"{len(came)} tests in sandbox {sandbox.level}"
        answer = response if block is None else block
        found.append(Explained(verdict_of(came), str(gold), answer, mark, layer, _why(came)))
    return found


def _tests(gold: Any) -> Tests:
    """The tests that a reference writes. DataError if it writes none."""
    if isinstance(gold, dict):
        return read_tests(gold)
    text = str(gold).strip()
    if not text.startswith("{"):
        return read_tests({"asserts": text})
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"tests of a program are asserts or a JSON object, and this is no JSON: {error}.") from None
    return read_tests(data)


def _why(came: Sequence[Outcome]) -> str:
    passed = sum(one.passed for one in came)
    failed = [f"test {number}: {one.kind}, {one.detail}" for number, one in enumerate(came, 1) if not one.passed]
    return "; ".join([f"{passed} of {len(came)} tests passed", *failed[:3]])
