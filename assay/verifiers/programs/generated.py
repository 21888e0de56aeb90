"""Tests that programs make: inputs by a generator and a validator, outputs by agreement of solutions (2505.21297).

The generator is a function `generate(scale, seed)` that returns the text of an input, or None where the scale is out of
its range. The validator is a function `valid(text)`; only inputs for which it returns True are used. Solutions read
standard input and print. A model wrote all of these programs, so all of them run in the sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.sandbox import Execution, Limits, Ran, Sandbox
from assay.verifiers.programs import driver, plain
from assay.verifiers.programs.agreement import HARD, MOST, agreed

SCALES = tuple(10**power for power in range(6))  # small to extreme
EACH = 24  # calls of the generator for each scale
LEAST_INPUTS, MOST_INPUTS = 50, 60
LONGEST_TEXT = 1 << 16  # characters of an input or an output
LEAST_SOLUTIONS = 3  # of fewer, agreement says nothing


@dataclass(frozen=True)
class Ingredients:
    """Programs that make tests: `Ingredients("def generate...", "def valid...", ("print(int(input()) + 1)", ...))`."""

    generator: str
    validator: str
    solutions: tuple[str, ...]
    hard: bool = False  # fewer solutions have to agree


@dataclass(frozen=True)
class Made:
    """Tests that were made, with the solutions that agree: `Made((("1", "2"),), solution=0, agreeing=(0, 2, 3))`."""

    tests: tuple[tuple[str, str], ...]
    solution: int  # the place of the solution that took the least processor time
    agreeing: tuple[int, ...]


@dataclass(frozen=True)
class Dropped:
    """Why a problem has no tests: `Dropped("inputs", "7 of 50")`."""

    stage: str  # solutions, inputs, agreement, repeat, sandbox
    detail: str


def make(
    origin: Ingredients, sandbox: Sandbox, *, least: int = LEAST_INPUTS, limits: Limits | None = None
) -> Made | Dropped:
    """The tests of a problem, or at which stage it was dropped.

    Solutions that agreed run a second time: one that then prints something else is not counted, and enough others must
    be left. An output is never taken from a run that did not end by itself.
    """
    limits = limits or Limits()
    if len(origin.solutions) < LEAST_SOLUTIONS:
        return Dropped("solutions", f"{len(origin.solutions)} of at least {LEAST_SOLUTIONS}")
    inputs = inputs_of(origin.generator, origin.validator, sandbox, limits=limits)
    if len(inputs) < least:
        return Dropped("inputs", f"{len(inputs)} valid and different, of at least {least}")
    share = HARD if origin.hard else MOST
    ran = _run(origin.solutions, inputs, sandbox, limits)
    if any(run.status == "lost" for row in ran for run in row):
        return Dropped("sandbox", "it was lost, which says nothing of the solutions: try again")
    outputs = [[_output(run) for run in row] for row in ran]
    first = agreed(outputs, share=share)
    if first is None:
        finished = sum(None not in row for row in outputs)
        return Dropped("agreement", f"of {len(outputs)} solutions {finished} have all outputs; {share:.0%} must agree")
    again = _run([origin.solutions[number] for number in first.solutions], inputs, sandbox, limits)
    for number, row in zip(first.solutions, again, strict=True):
        if [_tokens(_output(run)) for run in row] != [_tokens(output) for output in outputs[number]]:
            outputs[number] = [None] * len(inputs)
    second = agreed(outputs, share=share)
    if second is None or second.outputs != first.outputs:
        return Dropped("repeat", "solutions print something else when they run again")
    spent = {number: sum(run.processor for run in ran[number]) for number in second.solutions}
    fastest = min(spent, key=lambda number: (spent[number], number))
    return Made(tuple(zip(inputs, second.outputs, strict=True)), fastest, second.solutions)


def inputs_of(generator: str, validator: str, sandbox: Sandbox, *, limits: Limits | None = None) -> list[str]:
    """Different inputs that the generator makes and the validator accepts, as many of each scale as of the others."""
    limits = limits or Limits()
    asked = [(scale, seed) for seed in range(EACH) for scale in SCALES]
    runs = [[list(one) for one in asked if one[0] == scale] for scale in SCALES]
    by_scale = _returned(generator, "generate", runs, sandbox, limits)
    texts = dict.fromkeys(text for row in zip(*by_scale, strict=True) for text in row if _is_text(text))
    accepted = _returned(validator, "valid", [[[text] for text in texts]], sandbox, limits)[0] if texts else []
    return [text for text, fine in zip(texts, accepted, strict=True) if fine is True][:MOST_INPUTS]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT and "\0" not in value


def _returned(
    program: str, entry: str, calls: Sequence[Sequence[list[Any]]], sandbox: Sandbox, limits: Limits
) -> list[list[Any]]:
    """The value of a function for each argument list, None if it has none. Each sequence of calls is one process."""
    jobs = [driver.job(program, entry, [(arguments, {}) for arguments in some]) for some in calls]
    runs = [Execution(driver.text(), job, limits) for job in jobs]
    found = []
    for some, ran in zip(calls, sandbox.map(runs), strict=True):
        values = [_value(line) for line in ran.reply.split(b"\n")[:-1]] if ran.status != "lost" else []
        found.append([*values[: len(some)], *[None] * (len(some) - len(values))])
    return found


def _value(line: bytes) -> Any:
    try:
        return plain.unpack(json.loads(line)["value"])
    except (ValueError, KeyError, TypeError, RecursionError, plain.NotPlain):
        return None


def _run(programs: Sequence[str], inputs: Sequence[str], sandbox: Sandbox, limits: Limits) -> list[list[Ran]]:
    """The run of each program on each input."""
    ran = sandbox.map([Execution(program, text.encode(), limits) for program in programs for text in inputs])
    return [list(ran[at : at + len(inputs)]) for at in range(0, len(ran), len(inputs))]


def _output(ran: Ran) -> str | None:
    """The output of a run that ended by itself and printed something; else None, which is no value."""
    if ran.status != "exit" or ran.code or not ran.output.strip() or len(ran.output) > LONGEST_TEXT:
        return None
    return ran.output.decode("utf-8", errors="replace")


def _tokens(output: str | None) -> list[str] | None:
    return None if output is None else output.split()
