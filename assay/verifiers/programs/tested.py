"""Verdicts on Python programs. The sandbox turns a program and an input into an output; the comparison is made here.

A program's exit status, what it prints about itself and the objects it returns are no evidence: a verdict is `ok` only
if every expected output was produced, byte by byte or value by value. So a program that leaves early, lies about
equality or rewrites its surroundings can only spoil its own output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from assay.sandbox import Chain, Execution, Limits, Ran, Sandbox
from assay.sandbox.limits import LONGEST_PROGRAM
from assay.types import Verdict
from assay.verifiers.programs import compare, driver, plain
from assay.verifiers.programs.readings import Stopped
from assay.verifiers.programs.specs import Call, Calls, Streams, Tests

_DRIVER = driver.text()
_SHOWN = 200  # characters of a fault that are shown
_SPENT = "the seconds that an answer has for all of its tests are used up"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one test: `Outcome(False, "wrong", "returned 3")`."""

    passed: bool
    kind: str = ""  # of a test that did not pass
    detail: str = ""
    ours: bool = False  # it did not pass because of an error of ours


def verify(items: Sequence[tuple[str, Tests]], sandbox: Sandbox) -> list[Verdict]:
    """A verdict on each program, by its tests. All programs run beside each other, each up to its first failed test.

    (verdict,) = verify([("def f(x): return x * x", Calls((Call("f", (3,), 9),)))], sandbox)
    """
    found = _tested(items, sandbox, every=False)
    return [verdict_of(outcomes, of=len(tests.tests)) for outcomes, (_, tests) in zip(found, items, strict=True)]


def outcomes_of(items: Sequence[tuple[str, Tests]], sandbox: Sandbox) -> list[list[Outcome]]:
    """The outcome of each test of each program. A test does not pass if an earlier one ended the program, or if the
    seconds of an answer were used up before it.
    """
    return _tested(items, sandbox, every=True)


def _tested(items: Sequence[tuple[str, Tests]], sandbox: Sandbox, *, every: bool) -> list[list[Outcome]]:
    """The outcomes of each program's tests: of every test, or only up to the first that it does not pass."""
    by_program: dict[int, list[Outcome]] = {}
    asked: dict[int, _Asked] = {}
    for i, (program, tests) in enumerate(items):
        if _too_long(program):
            why = f"the program has more than {LONGEST_PROGRAM} bytes"
            by_program[i] = [Outcome(False, "format", why) for _ in tests.tests]
        else:
            asked[i] = _streams(program, tests) if isinstance(tests, Streams) else _calls(program, tests)
    chains = [_chain(plan, items[i][1].budget, every=every) for i, plan in asked.items()]
    for (i, plan), came in zip(asked.items(), sandbox.follow(chains), strict=True):
        read = [plan.read(number, ran) for number, ran in enumerate(came)]
        by_program[i] = [outcome for outcomes in read for outcome in outcomes]
        if every:
            by_program[i] += [Outcome(False, "time", _SPENT)] * (len(items[i][1].tests) - len(by_program[i]))
    return [by_program[i] for i in range(len(items))]


@dataclass(frozen=True)
class _Asked:
    """The runs that test a program, and how to read the outcomes of tests from a run, by its number. A run is read
    once, though it is needed twice: to know whether another run is wanted, and for the outcomes.
    """

    runs: tuple[Execution, ...]
    read: Callable[[int, Ran], list[Outcome]]


def _chain(asked: _Asked, seconds: float, *, every: bool) -> Chain:
    def goes_on(number: int, ran: Ran) -> bool:
        return every or all(outcome.passed or outcome.ours for outcome in asked.read(number, ran))

    return Chain(asked.runs, seconds, goes_on)


def verdict_of(outcomes: Sequence[Outcome], *, of: int = 0) -> Verdict:
    """`ok` if every test passed. An error of ours decides only where no test has shown the program to be wrong.

    `of` is the number of all tests, if `outcomes` lacks the tests that were not needed.
    """
    failed = [(number, one) for number, one in enumerate(outcomes, 1) if not one.passed]
    theirs = [(number, one) for number, one in failed if not one.ours]
    for number, one in theirs or failed:
        detail = f"test {number} of {max(of, len(outcomes))}: {one.detail}"[:_SHOWN]
        return Verdict.invalid(one.kind, detail) if one.ours else Verdict.fail(one.kind, detail)
    return Verdict.ok()


def _too_long(program: str) -> bool:
    return len(program.encode("utf-8", errors="replace")) > LONGEST_PROGRAM


# --- standard input and output --------------------------------------------------------------------------------


def _streams(program: str, tests: Streams) -> _Asked:
    same = compare.TEXT[tests.compare]

    def read(number: int, ran: Ran) -> list[Outcome]:
        outcome = _unfinished(ran)
        if outcome is None:
            text = ran.output.decode("utf-8", errors="replace")
            right = same(text, tests.tests[number][1])
            outcome = Outcome(True) if right else Outcome(False, "wrong", f"printed {text[:80]!r}")
        return [outcome]

    return _Asked(tuple(Execution(program, _bytes(given), tests.limits) for given, _ in tests.tests), cache(read))


def _unfinished(ran: Ran) -> Outcome | None:
    """The outcome of a test whose program did not end by itself with exit code 0; None if it did."""
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


def _calls(program: str, tests: Calls) -> _Asked:
    """One run makes all calls of a function, one after another. A call could learn other inputs, but no right value."""
    by_entry = _by_entry(tests)
    runs = []
    for entry, calls in by_entry:
        job = driver.job(program, entry, [(call.arguments, call.named) for call in calls])
        runs.append(Execution(_DRIVER, job, tests.limits))

    def read(number: int, ran: Ran) -> list[Outcome]:
        frames = ran.reply.split(b"\n")[:-1]  # an unfinished line is no answer
        outcomes = []
        for index, call in enumerate(by_entry[number][1]):
            frame = _frame(frames[index]) if index < len(frames) and ran.status != "lost" else None
            outcomes.append(
                _answered(frame, call, call.compare or tests.compare) if frame is not None else _silent(ran)
            )
        return outcomes

    return _Asked(tuple(runs), cache(read))


def _silent(ran: Ran) -> Outcome:
    """The outcome of a call that has no answer."""
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
    message = str(frame.get("error"))[:_SHOWN]
    if frame.get("memory") is True:
        return Outcome(False, "memory", message)
    kinds = {"compile": "compile", "load": "runtime", "call": "runtime"}
    return Outcome(False, kinds.get(str(frame.get("stage")), "runtime"), message)


def _shown(value: Any) -> str:
    return compare.shown(value)[:80]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


__all__ = ["Limits", "Outcome", "outcomes_of", "verdict_of", "verify"]
