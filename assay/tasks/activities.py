"""Activity scheduling: find the largest set of activities of which no two overlap. Exactly one set has that size.

An activity occupies [start, end), so another may begin when it ends. To prove that the answer is unique, the largest
sets are counted. Let f(i) be the pair (size, count) of the largest sets among the activities that begin at i or later.
Then f(i) is the better one of f(i + 1) and, for each activity that begins at i, that activity followed by f of its end;
counts of equal sizes are added.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

_NAMES = "abcdefghijklmnop"
_TIMES = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # the times in compact wording, one character each
_LONGEST = 7
_MAX_CHARACTERS = 256
_SEPARATORS = str.maketrans("", "", " ,")

Interval = Sequence[int]  # start, end


def _instance(generator: np.random.Generator, level: int) -> Spec:
    while True:
        draws = generator.random(2 * level).tolist()
        starts = [int(u * 2 * level) for u in draws[:level]]
        intervals = [[start, start + 1 + int(u * _LONGEST)] for start, u in zip(starts, draws[level:])]
        if _best(intervals)[1] == 1:
            return {"intervals": intervals}


def _best(intervals: Sequence[Interval]) -> tuple[int, int]:
    """The greatest size of a set without overlap, and how many sets have it."""
    last = max(end for _, end in intervals)
    ends: list[list[int]] = [[] for _ in range(last + 1)]
    for start, end in intervals:
        ends[start].append(end)
    best = [(0, 1)] * (last + 1)
    for moment in range(last - 1, -1, -1):
        size, count = best[moment + 1]
        for end in ends[moment]:
            with_it, ways = best[end][0] + 1, best[end][1]
            if with_it > size:
                size, count = with_it, ways
            elif with_it == size:
                count += ways
        best[moment] = (size, count)
    return best[0]


def _greedy(intervals: Sequence[Interval]) -> list[tuple[int, bool]]:
    """(activity, whether it is taken) in order of their ends, by the greedy rule. The taken ones are a largest set."""
    free, order = 0, []
    for place in sorted(range(len(intervals)), key=lambda i: (intervals[i][1], intervals[i][0])):
        start, end = intervals[place]
        order.append((place, start >= free))
        free = end if start >= free else free
    return order


def _canonical(spec: Spec) -> str:
    return " ".join(f"{start}-{end}" for start, end in spec["intervals"])


def _compact(spec: Spec) -> str:
    return "A " + " ".join(f"{name}{_TIMES[a]}{_TIMES[b]}" for name, (a, b) in zip(_NAMES, spec["intervals"]))


def _natural(spec: Spec) -> str:
    lines = "\n".join(f"- {name}: from {start} to {end}" for name, (start, end) in zip(_NAMES, spec["intervals"]))
    return (
        f"One room, and these activities that want it:\n\n{lines}\n\nChoose as many activities as possible so that no "
        "two overlap; an activity may begin at the moment when another ends. Exactly one choice has the greatest "
        "number of activities. Give their letters in alphabetical order, without anything between them, in "
        "\\boxed{...}, for example \\boxed{abc}."
    )


def _solve(spec: Spec) -> Solution:
    """The steps list the activities by their ends; capital letters mark the ones that are taken."""
    intervals = spec["intervals"]
    order = _greedy(intervals)
    marked = [_NAMES[place].upper() if taken else _NAMES[place] for place, taken in order]
    lines = [
        f"{_NAMES[place]} ({intervals[place][0]} to {intervals[place][1]}): {'take' if taken else 'leave, it overlaps'}"
        for place, taken in order
    ]
    answer = "".join(sorted(_NAMES[place] for place, taken in order if taken))
    return Solution(answer, "".join(marked), "By their ends:\n" + "\n".join(lines))


def _check(spec: Spec, text: str) -> Verdict:
    if len(text) > _MAX_CHARACTERS:
        return Verdict.fail("format", f"longer than {_MAX_CHARACTERS} characters")
    letters = text.translate(_SEPARATORS)
    intervals = spec["intervals"]
    chosen = sorted(set(letters))
    if not letters or len(chosen) < len(letters) or not set(_NAMES[: len(intervals)]).issuperset(chosen):
        return Verdict.fail("format", "expected the letters of activities, each once")
    answer = "".join(chosen)
    times = sorted(intervals[_NAMES.index(letter)] for letter in chosen)
    if any(first[1] > second[0] for first, second in itertools.pairwise(times)):
        return Verdict.fail("wrong", "two of them overlap", answer)
    if len(chosen) < sum(taken for _, taken in _greedy(intervals)):
        return Verdict.fail("wrong", "is not the largest", answer)
    return Verdict.ok(answer)


ACTIVITY = Task(
    name="activity",
    domain="sequences",
    summary="The largest set of activities without overlap, which is unique; the level is the number of activities.",
    generator=Generator(levels=range(8, 13), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("sets of eight activities", levels=(8,), num_steps=800),),
)
