"""Problems whose answer is a sequence that is the only best one, as a measure of shortcuts sees them.

It asks what is best, what is allowed, what cheap rules would answer, what is seen of a problem without solving it, and
which order an answer writes down.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks import task
from assay.types import Problem

Ids = tuple[int, ...]
Activity = Sequence[int]  # start, end
MARKS = {"compact": "#", "natural": "\\boxed{"}  # before the answer of a response


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A problem with a best sequence.

    puzzle(problem).rules["longest run"]
    """

    best: Ids
    allowed: Callable[[Ids], bool]  # whether a sequence keeps the rules, be it the best or not
    rules: Mapping[str, Ids]  # cheap rule -> what it answers
    features: Mapping[str, float]  # what is seen without solving: no feature is the length of the best sequence
    procedure: str  # the order that the worked solution writes down before its answer


def puzzle(problem: Problem) -> Puzzle:
    """What a measure of shortcuts needs of a problem of a task of `KINDS`."""
    return KINDS[problem.task].of(problem)


def sequence_of(problem: Problem, answer: str | None) -> Ids | None:
    """The sequence that a canonical answer tells; None without an answer."""
    return None if answer is None else KINDS[problem.task].read(answer)


def procedure_of(problem: Problem, text: str) -> str:
    """The order that a response writes down before its answer; "" where it writes none."""
    mark = MARKS[problem.wording]
    before = text.partition(mark)[0] if mark in text else ""
    return KINDS[problem.task].order(before) if problem.wording == "natural" else before.lower()


# Longest increasing subsequences: ids are the numbers themselves


def _subsequence(problem: Problem) -> Puzzle:
    numbers = problem.spec["numbers"]

    def allowed(chosen: Ids) -> bool:
        rest = iter(numbers)
        return all(a < b for a, b in itertools.pairwise(chosen)) and all(number in rest for number in chosen)

    rises = [a < b for a, b in itertools.pairwise(numbers)]
    run, greedy = longest_run(numbers), first_greedy(numbers)
    pairs = list(itertools.combinations(numbers, 2))
    return Puzzle(
        best=_best(problem),
        allowed=allowed,
        rules={"from the first on": greedy, "longest run": run},
        features={
            "numbers": len(numbers),
            "rises": sum(rises),
            "longest run": len(run),
            "from the first on": len(greedy),
            "records": sum(number == max(numbers[: i + 1]) for i, number in enumerate(numbers)),
            "pairs in order": sum(a < b for a, b in pairs) / len(pairs),
        },
        procedure=procedure_of(problem, problem.solution or ""),
    )


def first_greedy(numbers: Sequence[int]) -> Ids:
    """The first number, and after it every number that is larger than the last one taken."""
    taken = [numbers[0]]
    for number in numbers[1:]:
        if number > taken[-1]:
            taken.append(number)
    return tuple(taken)


def longest_run(numbers: Sequence[int]) -> Ids:
    """The longest stretch of neighbours that increase, the first of several."""
    best, run = [numbers[0]], [numbers[0]]
    for number in numbers[1:]:
        run = [*run, number] if number > run[-1] else [number]
        best = run if len(run) > len(best) else best
    return tuple(best)


# Activities without overlap: ids are their places in the list, in its order


def _activities(problem: Problem) -> Puzzle:
    intervals: Sequence[Activity] = problem.spec["intervals"]
    pairs = list(itertools.combinations(intervals, 2))
    listed, early, short = (taken(intervals, key) for key in (None, lambda i: i[0], lambda i: i[1] - i[0]))
    moments = range(max(end for _, end in intervals))
    return Puzzle(
        best=_best(problem),
        allowed=lambda chosen: all(apart(intervals[a], intervals[b]) for a, b in itertools.combinations(chosen, 2)),
        rules={"as listed": listed, "first begun": early, "shortest": short},
        features={
            "activities": len(intervals),
            "mean length": float(np.mean([end - start for start, end in intervals])),
            "pairs that overlap": sum(not apart(a, b) for a, b in pairs) / len(pairs),
            "at once": max(sum(start <= moment < end for start, end in intervals) for moment in moments),
            "span": max(end for _, end in intervals) - min(start for start, _ in intervals),
            "as listed": len(listed),
        },
        procedure=procedure_of(problem, problem.solution or ""),
    )


def apart(one: Activity, other: Activity) -> bool:
    """Whether two activities do not overlap; one may begin when the other ends."""
    return one[1] <= other[0] or other[1] <= one[0]


def taken(intervals: Sequence[Activity], key: Callable[[Activity], int] | None) -> Ids:
    """The places of the activities that are taken one after the other, by the key or as they are listed, where each
    that overlaps none taken before is taken.
    """
    order = range(len(intervals))
    chosen: list[int] = []
    for place in order if key is None else sorted(order, key=lambda i: key(intervals[i])):
        if all(apart(intervals[place], intervals[other]) for other in chosen):
            chosen.append(place)
    return tuple(sorted(chosen))


def _best(problem: Problem) -> Ids:
    return KINDS[problem.task].read(task(problem.task).wordings.solve(problem.spec).answer)


@dataclass(frozen=True)
class _Kind:
    """A task whose answers are sequences."""

    of: Callable[[Problem], Puzzle]
    read: Callable[[str], Ids]  # a canonical answer -> its sequence
    order: Callable[[str], str]  # what stands before an answer in natural wording -> the order it writes down


KINDS: Mapping[str, _Kind] = {
    "lis": _Kind(
        _subsequence,
        lambda answer: tuple(map(int, answer.split())),
        lambda text: " ".join(re.findall(r": ([0-9]+)$", text, re.MULTILINE)),
    ),
    "activity": _Kind(
        _activities,
        lambda answer: tuple(ord(letter) - ord("a") for letter in answer),
        lambda text: "".join(re.findall(r"^([a-p]) \(", text, re.MULTILINE)),
    ),
}
"""Task -> how its problems are seen."""
