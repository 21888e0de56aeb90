"""What an answer earns that looks at nothing: constants, the example of the question, its words and its numbers.

    python -m bench.constants                       # every task, level and wording; the levels that such an answer wins
    python -m bench.constants smt grids:1 --count 100

Each way to answer is tried on problems of a level (`--count`). The best one is then tried on five times as many fresh
ones, so that luck among so many ways is not counted. A level is named if its best way is right in more than 5 % of
these, by the lower end of Wilson's interval of 95 %.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.rng import Key
from assay.tasks import TASKS
from assay.tasks.task import Task
from assay.types import Problem
from assay.verifiers.answers import Wording
from assay.verifiers.rates import wilson

LIMIT = 0.05
COUNT = 40
FRESH = 5  # times as many problems for the best way alone
WORDINGS: tuple[Wording, ...] = ("compact", "natural")
CONSTANTS = (
    *(
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "10",
        "12",
        "-1",
        "00",
        "11",
        "true",
        "false",
        "unsat",
        "none",
        "yes",
        "no",
    ),
    *(
        "a",
        "b",
        "ab",
        "abc",
        "aaaaa",
        "01/10",
        "[]",
        "0=0",
        "a=0 b=0",
        "x=0 y=0",
        "select a from t",
        "intros; auto.",
        "x",
    ),
    "max a;a<=1",
)
"""Thirty-three texts that somebody might always answer."""
_NUMBER = re.compile(r"-?\d+")
_WORD = re.compile(r"\w+")
_EXAMPLE = re.compile(r"\\boxed\{([^{}]*)\}")
_PIECES = 12  # words and numbers from each end of a question


@dataclass(frozen=True)
class Won:
    """The best way to answer without looking, at a level: `Won("grids", 1, "compact", "constant 2", 9, 40)`."""

    task: str
    level: int
    wording: Wording
    way: str
    right: int
    count: int

    @property
    def share(self) -> float:
        return self.right / self.count

    @property
    def surely(self) -> float:
        """The share that it has at least, but for chance."""
        return wilson(self.right, self.count)[0]


def ways(question: str) -> Iterator[tuple[str, str]]:
    """Each way to answer a question without understanding it, with the answer.

    dict(ways("give 3 and 4"))["number -1"]  # "4"
    """
    for constant in CONSTANTS:
        yield f"constant {constant}", constant
    if example := _EXAMPLE.findall(question):
        yield "the example", example[-1]
    yield "the question", question
    for name, pieces in (
        ("number", _NUMBER.findall(question)),
        ("word", _WORD.findall(question)),
        ("piece", question.split()),
    ):
        for place in (*range(_PIECES), *range(-_PIECES, 0)):
            if -len(pieces) <= place < len(pieces):
                yield f"{name} {place}", pieces[place]


def best(task: Task, level: int, wording: Wording, count: int = COUNT) -> Won:
    """The way that is right most often on some problems of a level, and how often it is on others."""
    last = count * (1 + FRESH)
    first, fresh = (_posed(task, level, wording, seeds) for seeds in (range(count), range(count, last)))
    right = Counter(way for way, _ in _right(task, first))
    way = right.most_common(1)[0][0] if right else f"constant {CONSTANTS[0]}"
    again = sum(found == way for found, _ in _right(task, fresh, only=way))
    return Won(task.name, level, wording, way, again, len(fresh))


def _posed(task: Task, level: int, wording: Wording, seeds: Sequence[int]) -> list[Problem]:
    return [task.problem(Key("constants", seed), level=level, wording=wording) for seed in seeds]


def _question(task: Task, problem: Problem) -> str:
    """The question as text, also where a picture stands before it."""
    return task.wordings.compact(problem.spec) if problem.wording == "compact" else task.wordings.natural(problem.spec)


def _right(task: Task, problems: Sequence[Problem], only: str = "") -> list[tuple[str, Problem]]:
    """The ways that are right, each with the problem. Equal answers to a problem are verified once."""
    asked: dict[tuple[int, str], list[str]] = {}
    for i, problem in enumerate(problems):
        for way, answer in ways(_question(task, problem)):
            if not only or way == only:
                asked.setdefault((i, answer), []).append(way)
    pairs = [(problems[i], _response(answer, problems[i].wording)) for i, answer in asked]
    verdicts = task.checker.verify_many(pairs) if task.checker.verify_many else [task.verify(*pair) for pair in pairs]
    return [
        (way, problems[i])
        for ((i, _), named), verdict in zip(asked.items(), verdicts, strict=True)
        if verdict.status == "ok"
        for way in named
    ]


def _response(answer: str, wording: Wording) -> str:
    return answer if wording == "compact" else f"\\boxed{{{answer}}}"


def winners(task: Task, levels: Sequence[int] = (), count: int = COUNT) -> Iterator[Won]:
    """The levels of a task at which the best way to answer without looking earns more than it may."""
    for level in levels or task.generator.levels:
        found = max((best(task, level, wording, count) for wording in WORDINGS), key=lambda one: one.share)
        if found.surely > LIMIT:
            yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK[:LEVEL]", help="else all")
    parser.add_argument("--count", type=int, default=COUNT, help="problems of a level on which all ways are tried")
    given = parser.parse_args()
    for name in given.tasks or list(TASKS):
        name, _, level = name.partition(":")
        for won in winners(TASKS[name], [int(level)] if level else (), given.count):
            shown = f"{won.right} of {won.count} ({won.share:.0%})"
            print(f"{won.task}:{won.level}  {won.way!r} in {won.wording} wording: {shown}", flush=True)
        print(f"{name}: swept", flush=True)


if __name__ == "__main__":
    main()
