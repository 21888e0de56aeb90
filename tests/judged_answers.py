"""Answers to every task that judges, and the verdicts on them: for the properties that hold for all verifiers.

As a program it judges answers in a process of its own: a list of cases comes in as JSON, and verdicts go out.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from hostile_texts import FAMILIES, TEXTS
from tiny import episode

from assay.lab.data_verified import seconds_of
from assay.rng import Key
from assay.tasks import TASKS, task
from assay.tasks.data.task import data
from assay.tasks.task import Task
from assay.tasks.verifying import verify
from assay.types import Problem, Verdict
from assay.verifiers.answers import Wording

DATA = {name: Path(__file__).with_name("data") / f"judged_{name}.jsonl" for name in ("rows", "tests")}
"""Rows of a user: golds of every kind that mathematics knows, and tests of programs of every kind."""

SOLVED = {  # programs that pass the tests of the rows, in their order
    number: f"```python\n{program}\n```"
    for number, program in enumerate(
        (
            "print(sum(map(int, input().split())))",
            "print(int(input()) / 2)",
            "def f(x): return x * x",
            "f = sorted",
            "def f(x): return x * x",
            "def f(x): return [[4], [3]] if x == 1 else [2, 1, 2]",
            "def f(x): return 0.5 if x else None",
        )
    )
}

FENCES = {"programs": "python", "tests": "python", "coq": "coq", "verilog": "verilog", "sql": "sql"}
OF_TASK = {  # the families of texts that come near the answers of a task that a foreign program judges
    "programs": ("program", "grid"), "sql": ("query",), "coq": ("proof",), "metamath": ("proof",), "drawing": ("grid",),
    "verilog": ("circuit",), "smt": ("term",), "linear-program": ("term",), "rows": ("latex", "number", "marker"),
    "tests": ("program",),
}  # fmt: skip
ENDLESS = {  # answers on which a verifier's program works until its time is up
    "programs": "```python\ndef f(x):\n    while True: pass\n```",
    "sql": "\\boxed{with recursive r(n) as (select 1 union all select n+1 from r) select count(*) from r}",
    "coq": "\\boxed{repeat (assert True by exact I).}",
    "tests": "```python\nwhile True: pass\n```",
    "rows": "\\boxed{\\sum_{k=1}^{10^9} \\frac{1}{k}}",
}


@dataclass(frozen=True)
class Case:
    """An answer to a problem that a number names: `Case("sql", 3, "natural", "\\\\boxed{select 1}")`."""

    name: str
    number: int
    wording: Wording
    text: str

    @property
    def problem(self) -> Problem:
        return posed(self.name, self.number, self.wording)


def externals_of() -> dict[str, tuple[str, ...]]:
    """The foreign programs that each needs."""
    needed = {name: task.checker.externals for name, task in TASKS.items()}
    return needed | {"rows": ("math-verify",), "tests": ("sandbox",)}


def each(*, foreign: bool = False) -> list[ParameterSet]:
    """The names as parameters of a test, with the externals that each needs; `foreign`: those alone that need some."""
    return [
        pytest.param(name, marks=[pytest.mark.external(one) for one in needed])
        for name, needed in externals_of().items()
        if needed or not foreign
    ]


def of(name: str) -> Task:
    return task(_named(name) if name in DATA else name)


def budget(case: Case) -> float:
    """The processor seconds that judging this answer may take."""
    return seconds_of(case.problem) if case.name in DATA else of(case.name).checker.seconds


@cache
def _named(name: str) -> str:
    return data(DATA[name], rows="test").name


@cache
def posed(name: str, number: int, wording: Wording) -> Problem:
    """The problem of this number. Levels take turns, from the easiest on."""
    chosen = of(name)
    if name in DATA:
        rows = chosen.rows_of("test")
        return rows[number % len(rows)]
    level = chosen.generator.levels[number % len(chosen.generator.levels)]
    return chosen.problem(Key(number, name, "judged answers"), level=level, split="test", wording=wording)


def worked(name: str, number: int, wording: Wording) -> str:
    problem = posed(name, number, wording)
    if name in DATA:
        return SOLVED[number % len(SOLVED)] if name == "tests" else f"\\boxed{{{problem.spec['gold']}}}"
    return problem.solution or ""


def spoilt(text: str, draw: random.Random) -> str:
    """The text with one character doubled, left out, or exchanged with its neighbour."""
    if not text:
        return "?"
    place = draw.randrange(len(text))
    kind = draw.randrange(3)
    if kind == 2 and place + 1 < len(text):
        return text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    return text[:place] + text[place] * (2 if kind == 0 else 0) + text[place + 1 :]


def wrapped(name: str, text: str) -> Iterator[tuple[Wording, str]]:
    """The text where an answer of this task would stand, in each way in which one may be marked."""
    if name not in DATA:
        yield "compact", text
    yield "natural", f"\\boxed{{{text}}}"
    if name in FENCES:
        yield "natural", f"```{FENCES[name]}\n{text}\n```"


def hostile(name: str, every: int) -> list[str]:
    """Every so-many-th text of the corpus; of the families that come near this task's answers, more of them."""
    near = {text for family in OF_TASK.get(name, FAMILIES) for text in FAMILIES[family]}
    texts = [text for text in TEXTS.values() if text in near][:: max(1, every // 4)]
    return texts + [text for text in TEXTS.values() if text not in near][::every]


def ordinary(name: str, count: int) -> list[Case]:
    """Worked solutions of so many problems in both wordings, each also spoilt twice."""
    draw = random.Random(f"ordinary {name}")
    wordings: tuple[Wording, ...] = ("natural",) if name in DATA else ("compact", "natural")
    found = []
    for number in range(count):
        for wording in wordings:
            solution = worked(name, number, wording)
            found += [
                Case(name, number, wording, text) for text in (solution, spoilt(solution, draw), spoilt(solution, draw))
            ]
    return found


def judged(cases: Sequence[Case]) -> list[tuple[str, str, str | None]]:
    """(status, kind, answer) of each case, all of them judged together as the answers of a step are."""
    return [(one.status, one.kind, one.answer) for one in verdicts(cases)]


def verdicts(cases: Sequence[Case]) -> list[Verdict]:
    made = episode([1, 1])
    episodes = [
        dataclasses.replace(
            made,
            request=dataclasses.replace(made.request, problem=case.problem),
            text=case.text,
            finish="stop",
            verdict=None,
        )
        for case in cases
    ]
    return verify(episodes)


def elsewhere(cases: Sequence[Case]) -> list[tuple[str, str, str | None]]:
    """As `judged`, in a new process, whose hashes of texts are others."""
    job = json.dumps([dataclasses.astuple(case) for case in cases])
    environment = os.environ | {"PYTHONHASHSEED": "271828"}
    ended = subprocess.run(
        [sys.executable, __file__], input=job, capture_output=True, text=True, env=environment, check=True, timeout=900
    )
    return [tuple(one) for one in json.loads(ended.stdout)]


if __name__ == "__main__":
    json.dump(judged([Case(*fields) for fields in json.load(sys.stdin)]), sys.stdout)
