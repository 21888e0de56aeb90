"""How long verdicts take: of each task whose answers a foreign program judges, of mathematics, and of bare programs.

    python -m bench.judging                    # every kind; RESULTS.md has the figures afterwards
    python -m bench.judging sql coq --dry      # some kinds; only prints

The worked solutions of new problems are judged, so that no verdict is remembered from before. Alone: one answer after
the other, milliseconds of each. Together: all answers at once, as a step of training asks for them, milliseconds of the
whole divided by their number. The first verdict of a process, which starts the foreign program, is not counted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from assay.errors import unknown
from assay.rng import Key
from assay.sandbox import Execution, Limits, opened
from assay.tasks import task
from assay.types import Problem
from assay.verifiers.mathematics.against_gold import explain
from bench import kept
from bench.machine import describe, load

RESULTS = Path(__file__).resolve().parent / "results"
NAME = "judging"
LEVELS = {"programs": 3, "sql": 4, "linear-program": 4, "metamath": 3, "verilog": 4, "coq": 3}
CLOCKED = 9  # level of `verilog` with circuits that have a clock
ALONE, TOGETHER = 30, 64  # answers
PROGRAM = "print(sum(map(int, input().split())))"
GOALS = {
    "program": "at least 200 a second: 5 ms each, together",
    "sql": "2 ms for a query on a database; a verdict runs two queries on 48 databases",
    "coq": "2 ms for a tactic; a verdict has one to six of them",
    "verilog": "40 ms; `clocked` are its circuits with a clock, each against a reference of its own",
    "mathematics": "median 2 ms",
}

Timed = dict[str, list[float]]
"""`alone` or `together` -> milliseconds of a verdict; quartiles, the median between them."""


def quartiles(values: Sequence[float]) -> list[float]:
    return [round(1000 * value, 3) for value in statistics.quantiles(values, n=4, method="inclusive")]


def seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def problems(name: str, level: int, count: int, salt: str) -> list[Problem]:
    return [task(name).problem(Key(0, salt, i), level=level) for i in range(count)]


def of_task(name: str, rounds: int, level: int) -> Timed:
    verify = task(name).checker.verify_many
    assert verify is not None, f"the task {name} verifies answers one by one"

    def pairs(count: int, salt: str) -> list[tuple[Problem, str]]:
        return [(problem, problem.solution or "") for problem in problems(name, level, count, salt)]

    def decided(answers: list[tuple[Problem, str]]) -> None:
        wrong = [verdict for verdict in verify(answers) if verdict.status != "ok"]
        assert not wrong, f"a worked solution of {name} is not right: {wrong[0]}"

    decided(pairs(4, "warm"))
    alone = [seconds(lambda pair=pair: decided([pair])) for pair in pairs(ALONE, "alone")]
    whole = [pairs(TOGETHER, f"together {i}") for i in range(rounds)]
    return {
        "alone": quartiles(alone),
        "together": quartiles([seconds(lambda some=some: decided(some)) / TOGETHER for some in whole]),
    }


def of_program(rounds: int) -> Timed:
    """A program of one line in the sandbox, without tests: what the sandbox itself costs."""
    sandbox = opened()
    runs = [Execution(PROGRAM, f"{i} {i}".encode(), Limits(seconds=5.0)) for i in range(TOGETHER)]

    def ran(some: Sequence[Execution]) -> None:
        assert all(one.status == "exit" for one in sandbox.map(some))

    ran(runs)
    return {
        "alone": quartiles([seconds(lambda run=run: ran([run])) for run in runs[:ALONE]]),
        "together": quartiles([seconds(lambda: ran(runs)) / TOGETHER for _ in range(rounds)]),
    }


def of_process(rounds: int) -> Timed:
    """The same program in a bare process of Python, without a sandbox, as many beside each other as there are cores."""
    line, cores = [sys.executable, "-I", "-S", "-c", PROGRAM], os.cpu_count() or 1

    def ran(count: int) -> None:
        for first in range(0, count, cores):
            some = [
                subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
                for _ in range(min(cores, count - first))
            ]
            for one in some:
                one.communicate(b"1 2")
                assert one.returncode == 0

    return {
        "alone": quartiles([seconds(lambda: ran(1)) for _ in range(ALONE)]),
        "together": quartiles([seconds(lambda: ran(TOGETHER)) / TOGETHER for _ in range(rounds)]),
    }


def of_mathematics(rounds: int) -> Timed:
    """Answers that are equal to their golds and look different: a fraction, a root, a polynomial."""

    def pairs(first: int, count: int) -> list[tuple[str, str]]:
        shapes = (
            lambda n: (rf"\frac{{{n}}}{{{n + 1}}}", rf"\boxed{{1-\frac1{{{n + 1}}}}}"),
            lambda n: (rf"{n}\sqrt{{2}}", rf"\boxed{{\sqrt{{{2 * n * n}}}}}"),
            lambda n: (rf"(x+{n})^2", rf"\boxed{{x^2+{2 * n}x+{n * n}}}"),
        )
        return [shapes[i % len(shapes)](first + i) for i in range(count)]

    def decided(some: list[tuple[str, str]]) -> None:
        assert all(one.verdict.status == "ok" for one in explain(some))

    decided(pairs(10_000, 6))
    return {
        "alone": quartiles([seconds(lambda pair=pair: decided([pair])) for pair in pairs(100, ALONE)]),
        "together": quartiles(
            [seconds(lambda i=i: decided(pairs(1_000 * (i + 1), TOGETHER))) / TOGETHER for i in range(rounds)]
        ),
    }


KINDS: dict[str, Callable[[int], Timed]] = {
    "process": of_process,
    "program": of_program,
    **{name: lambda rounds, name=name: of_task(name, rounds, LEVELS[name]) for name in LEVELS},
    "clocked": lambda rounds: of_task("verilog", rounds, CLOCKED),
    "mathematics": of_mathematics,
}


def section(folder: Path = RESULTS) -> str:
    """Of RESULTS.md."""
    runs = kept.stored(folder, NAME)
    if not runs:
        return ""
    lines = ["## Verdicts", "", f"`python -m bench.judging`: milliseconds a verdict, alone and {TOGETHER} together;"]
    lines += [
        "medians, quartiles in brackets. `process` is a bare process of Python, `program` the same in the sandbox."
    ]
    lines += ["", *(f"- goal of `{name}`: {goal}" for name, goal in GOALS.items())]
    for run in runs:
        busy = f", {run['others']:.0f} other processes wanted a core" if run["others"] else ""
        lines += ["", f"{kept.title(run['machine'])}, {run['measured']}, {run['rounds']} rounds{busy}:", ""]
        lines += ["| kind | level | alone | together |", "|---|---|---|---|"]
        for name, took in run["milliseconds"].items():
            cells = (f"{middle:.1f} [{low:.1f}, {high:.1f}]" for low, middle, high in took.values())
            lines.append(
                f"| `{name}` | {LEVELS.get(name, CLOCKED if name == 'clocked' else '')} | {' | '.join(cells)} |"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"default: all of {', '.join(KINDS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    given = parser.parse_args(arguments)
    for name in given.kinds:
        if name not in KINDS:
            raise unknown("kind of verdict", name, KINDS, "python -m bench.judging --help")
    others = load()
    measured: Mapping[str, Timed] = {}
    for name in given.kinds or KINDS:
        measured = {**measured, name: KINDS[name](given.rounds)}
        told = (f"{way} {middle:.1f} ms [{low:.1f}, {high:.1f}]" for way, (low, middle, high) in measured[name].items())
        print(f"{name:<16} {', '.join(told)}", flush=True)
    if not given.dry:
        result: dict[str, Any] = {"machine": describe(), "measured": str(date.today()), "others": others}
        kept.keep(RESULTS, NAME, result | {"rounds": given.rounds, "milliseconds": measured})
        from bench.rendering import render

        render()


if __name__ == "__main__":
    main()
