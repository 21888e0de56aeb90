"""How long a hundred answers that never end hold a step up, by kind of verifier.

    python -m bench.endless                    # every kind; RESULTS.md has the figures afterwards
    python -m bench.endless sql --dry          # some kinds; only prints

All answers are different, so that each is verified, and are verified together, as those of a step are. The bound is the
seconds that an answer has, times the answers, divided by the cores. A kind whose bound is long is measured with fewer
answers. The first verdict of a process, which starts the foreign program, is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from assay.errors import unknown
from assay.rng import Key
from assay.tasks import task
from assay.types import Problem, Verdict
from bench import kept
from bench.machine import describe, load

RESULTS = Path(__file__).resolve().parent / "results"
NAME = "endless"
ANSWERS, FEW = 100, 6
GOAL = 30.0  # seconds, of the kinds that have a hundred answers
LONG = "9" * 200_000


@dataclass(frozen=True)
class Kind:
    """Answers that never end: `Kind(0.5, 100, verify)`, where `verify` takes the answers' numbers."""

    seconds: float  # that an answer has; 0: a checker of ours, whose work is bounded
    answers: int
    verify: Callable[[Sequence[int]], list[Verdict]]


def of_task(name: str, text: Callable[[int], str], *, answers: int = ANSWERS, wording: str = "natural") -> Kind:
    found = task(name)
    level = found.generator.first_level

    def verify(numbers: Sequence[int]) -> list[Verdict]:
        problem = found.problem(Key(0, "endless"), level=level, wording=wording)  # type: ignore[arg-type]
        pairs = [(problem, text(number)) for number in numbers]
        return (
            found.checker.verify_many(pairs) if found.checker.verify_many else [found.verify(*pair) for pair in pairs]
        )

    return Kind(found.checker.seconds, answers, verify)


def mathematics(numbers: Sequence[int]) -> list[Verdict]:
    from assay.verifiers.mathematics.against_gold import verify

    problem = Problem("endless", "?", {"gold": r"\int_0^1 x^2 dx"}, "endless")
    return verify([(problem, rf"\boxed{{\sum_{{k=1}}^{{10^9}} \frac{{{n + 2}}}{{k}}}}") for n in numbers])


def of_tests(numbers: Sequence[int]) -> list[Verdict]:
    from assay.sandbox import opened
    from assay.verifiers.programs import read_tests, verify

    tests = read_tests({"streams": [[str(i), str(i)] for i in range(40)]})
    return verify([(f"import time\ntime.sleep(3.9)\nprint(input())  # {n}", tests) for n in numbers], opened())


def kinds() -> dict[str, Kind]:
    from assay.verifiers.mathematics.against_gold import SECONDS
    from assay.verifiers.programs.specs import BUDGET

    def boxed(text: str) -> Callable[[int], str]:
        return lambda n: f"\\boxed{{{text.replace('$', str(n))}}}"

    recursive = "with recursive r(n) as (select $ union all select n+1 from r) select count(*) from r"
    matched = "select max(a) from t where printf('%.900000c', 'a') like '%a%a%a%a%a%a%a%a%a%a%b$'"
    return {
        "text": of_task("countdown", lambda n: f"\\boxed{{{n}{LONG}}}"),
        "calls": of_task("calls", lambda n: f"\\boxed{{f({n}{',1' * 100_000})}}"),
        "mathematics": Kind(SECONDS, ANSWERS, mathematics),
        "sql": of_task("sql", boxed(recursive)),
        "sql-text": of_task("sql", boxed(matched)),
        "programs": of_task("programs", lambda n: f"```python\ndef f(x):\n    while True: pass  # {n}\n```"),
        "programs-asleep": of_task(
            "programs", lambda n: f"```python\nimport time\ndef f(x):\n    time.sleep(9{n})\n```"
        ),
        "tests": Kind(BUDGET, FEW, of_tests),
        "coq": of_task("coq", boxed("repeat (assert ($ = $) by reflexivity)."), answers=FEW),
    }


def measure(kind: Kind) -> dict[str, Any]:
    kind.verify([10**6])
    begun = time.perf_counter()
    found = kind.verify(range(kind.answers))
    took = time.perf_counter() - begun
    return {
        "answers": kind.answers,
        "seconds": kind.seconds,
        "bound": kind.seconds * kind.answers / (os.cpu_count() or 1),
        "took": round(took, 2),
        "verdicts": dict(Counter(f"{one.status} {one.kind}".strip() for one in found)),
    }


def section(folder: Path = RESULTS) -> str:
    """Of RESULTS.md."""
    runs = kept.stored(folder, NAME)
    if not runs:
        return ""
    lines = [
        "## Answers that never end",
        "",
        f"`python -m bench.endless`: how long they hold a step up. The goal is {GOAL:g} s for a hundred;",
        "the bound is the seconds of an answer, times the answers, divided by the cores.",
    ]
    for run in runs:
        busy = f", {run['others']:.0f} other processes wanted a core" if run["others"] else ""
        lines += ["", f"{kept.title(run['machine'])}, {run['measured']}{busy}:", ""]
        lines += ["| kind | answers | seconds of an answer | bound | took | verdicts |", "|---|---|---|---|---|---|"]
        for name, one in run["kinds"].items():
            said = ", ".join(f"{count} {verdict}" for verdict, count in one["verdicts"].items())
            times = f"{one['seconds']:g} | {one['bound']:.1f} s | {one['took']:.1f} s"
            lines.append(f"| `{name}` | {one['answers']} | {times} | {said} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="default: all")
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    given = parser.parse_args(arguments)
    known = kinds()
    for name in given.kinds:
        if name not in known:
            raise unknown("kind of verdict", name, known, "python -m bench.endless --help")
    others, measured = load(), {}
    for name in given.kinds or known:
        measured[name] = measure(known[name])
        print(f"{name:<16} {json.dumps(measured[name])}", flush=True)
    if not given.dry:
        about = {"machine": describe(), "measured": str(date.today()), "others": others}
        kept.keep(RESULTS, NAME, about | {"kinds": measured})
        from bench.rendering import render

        render()


if __name__ == "__main__":
    main()
