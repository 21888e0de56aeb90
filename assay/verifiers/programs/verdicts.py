"""Verdicts on Python programs. The sandbox turns a program and an input into an output; the comparison is made here.

A program's exit status, what it prints about itself and the objects it returns are no evidence: a verdict is `ok` only
if every expected output was produced, byte by byte or value by value. So a program that leaves early, lies about
equality or rewrites its surroundings can only spoil its own output.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from assay.sandbox import Limits, Ran, Run, Sandbox
from assay.sandbox.limits import LONGEST_PROGRAM
from assay.types import Verdict
from assay.verifiers.programs import compare, driver, plain
from assay.verifiers.programs.readings import Stopped
from assay.verifiers.programs.specs import Call, Calls, Streams, Tests

_DRIVER = driver.text()
_SHOWN = 200  # characters of what went wrong


@dataclass(frozen=True)
class Outcome:
    """What came of one test: `Outcome(False, "wrong", "returned 3")`."""

    passed: bool
    kind: str = ""  # of a test that did not pass
    detail: str = ""
    ours: bool = False  # it did not pass because of an error of ours


def judge(items: Sequence[tuple[str, Tests]], sandbox: Sandbox) -> list[Verdict]:
    """A verdict on each program, by its tests. All programs run beside each other.

    (verdict,) = judge([("def f(x): return x * x", Calls((Call("f", (3,), 9),)))], sandbox)
    """
    return [verdict_of(outcomes) for outcomes in outcomes_of(items, sandbox)]


def outcomes_of(items: Sequence[tuple[str, Tests]], sandbox: Sandbox) -> list[list[Outcome]]:
    """What came of each test of each program. Tests after one that ended the program are missing, or did not pass."""
    runs: list[Run] = []
    spans: list[tuple[int, int]] = []
    for program, tests in items:
        before = len(runs)
        if _too_long(program):
            spans.append((before, before))
            continue
        runs += _stream_runs(program, tests) if isinstance(tests, Streams) else _call_runs(program, tests)
        spans.append((before, len(runs)))
    ran = sandbox.map(runs)
    found = []
    for (_, tests), (first, last) in zip(items, spans, strict=True):
        if first == last:
            said = f"the program has more than {LONGEST_PROGRAM} bytes"
            found.append([Outcome(False, "format", said) for _ in tests.tests])
            continue
        reads = _streamed if isinstance(tests, Streams) else _called
        found.append(reads(tests, ran[first:last]))  # type: ignore[arg-type]
    return found


def verdict_of(outcomes: Sequence[Outcome]) -> Verdict:
    """`ok` if every test passed. An error of ours decides only where no test has shown the program to be wrong."""
    failed = [(number, one) for number, one in enumerate(outcomes, 1) if not one.passed]
    theirs = [(number, one) for number, one in failed if not one.ours]
    for number, one in theirs or failed:
        detail = f"test {number} of {len(outcomes)}: {one.detail}"[:_SHOWN]
        return Verdict.invalid(one.kind, detail) if one.ours else Verdict.fail(one.kind, detail)
    return Verdict.ok()


def _too_long(program: str) -> bool:
    return len(program.encode("utf-8", errors="replace")) > LONGEST_PROGRAM


# --- standard input and output --------------------------------------------------------------------------------


def _stream_runs(program: str, tests: Streams) -> list[Run]:
    return [Run(program, _bytes(given), tests.limits) for given, _ in tests.tests]


def _streamed(tests: Streams, ran: Sequence[Ran]) -> list[Outcome]:
    same = compare.TEXT[tests.compare]
    found = []
    for (_, expected), one in zip(tests.tests, ran, strict=True):
        outcome = _unfinished(one)
        if outcome is None:
            text = one.output.decode("utf-8", errors="replace")
            right = same(text, expected)
            outcome = Outcome(True) if right else Outcome(False, "wrong", f"printed {text[:80]!r}")
        found.append(outcome)
    return found


def _unfinished(ran: Ran) -> Outcome | None:
    """What came of a test whose program did not end by itself with exit code 0; None if it did."""
    said = ran.errors[-400:].decode("utf-8", errors="replace").strip().rpartition("\n")[2]
    if ran.status == "lost":
        return Outcome(False, "worker_lost", ran.detail, ours=True)
    if ran.status == "size":
        return Outcome(False, "format", ran.detail)
    if ran.status == "signal" or (ran.status == "exit" and ran.code):
        how = "was ended by signal" if ran.status == "signal" else "ended with exit code"
        return Outcome(False, "runtime", f"{how} {ran.code} {said}".strip())
    return Outcome(False, ran.status, said) if ran.status != "exit" else None


# --- calls ----------------------------------------------------------------------------------------------------


def _by_entry(tests: Calls) -> list[tuple[str, list[Call]]]:
    return [(entry, list(calls)) for entry, calls in groupby(tests.tests, key=lambda call: call.entry)]


def _call_runs(program: str, tests: Calls) -> list[Run]:
    """One run for all calls of a function, one after another: they could learn inputs from each other, and no value."""
    runs = []
    for entry, calls in _by_entry(tests):
        job = driver.job(program, entry, [(call.arguments, call.named) for call in calls])
        runs.append(Run(_DRIVER, job, tests.limits))
    return runs


def _called(tests: Calls, ran: Sequence[Ran]) -> list[Outcome]:
    found: list[Outcome] = []
    for (_, calls), one in zip(_by_entry(tests), ran, strict=True):
        frames = one.reply.split(b"\n")[:-1]  # an unfinished line is no answer
        for number, call in enumerate(calls):
            frame = _frame(frames[number]) if number < len(frames) and one.status != "lost" else None
            outcome = _answered(frame, call, call.compare or tests.compare) if frame is not None else _silent(one)
            found.append(outcome)
    return found


def _silent(ran: Ran) -> Outcome:
    """What came of a call that has no answer."""
    return _unfinished(ran) or Outcome(False, "runtime", "the process ended before this call returned")


def _frame(line: bytes) -> dict[str, Any] | None:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return frame if type(frame) is dict else None


def _answered(frame: dict[str, Any], call: Call, name: str) -> Outcome:
    if "value" in frame:
        try:
            value = plain.unpack(frame["value"])
        except plain.NotPlain as error:
            return Outcome(False, "wrong", f"returned no plain data: {error}")
        try:
            right = compare.VALUES[name](call.made_of(value), call.expected)
        except Stopped as error:
            return Outcome(False, error.kind, f"returned {_shown(value)}, of which {error}")
        return Outcome(True) if right else Outcome(False, "wrong", f"returned {_shown(value)}")
    if "odd" in frame:
        return Outcome(False, "wrong", f"returned no plain data: {str(frame['odd'])[:80]}")
    said = str(frame.get("error"))[:_SHOWN]
    if frame.get("memory") is True:
        return Outcome(False, "memory", said)
    kinds = {"compile": "compile", "load": "runtime", "call": "runtime"}
    return Outcome(False, kinds.get(str(frame.get("stage")), "runtime"), said)


def _shown(value: Any) -> str:
    return compare.shown(value)[:80]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


__all__ = ["Limits", "Outcome", "judge", "outcomes_of", "verdict_of"]
