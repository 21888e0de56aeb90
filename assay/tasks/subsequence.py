"""Longest increasing subsequence. The answer is the subsequence itself, which is the only one of its length.

The certificate is a count: c[i], the number of longest increasing subsequences that end at i, is the sum of c[j] over
the earlier, smaller elements j whose length is one less.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

_LARGEST = 99
_MAX_CHARACTERS = 256
_LIST = re.compile(r"\[?[0-9]{1,4}(?:[ ,]+[0-9]{1,4})*\]?")
_NUMBER = re.compile(r"[0-9]+")


def _instance(generator: np.random.Generator, level: int) -> Spec:
    while True:
        numbers = list(dict.fromkeys(1 + int(u * _LARGEST) for u in generator.random(2 * level).tolist()))[:level]
        if len(numbers) == level and _count_longest(numbers) == 1:
            return {"numbers": numbers}


def _lengths(numbers: Sequence[int]) -> list[int]:
    """The length of the longest increasing subsequence that ends at each element."""
    tails: list[int] = []
    lengths = []
    for number in numbers:
        place = bisect_left(tails, number)
        tails[place : place + 1] = [number]
        lengths.append(place + 1)
    return lengths


def _count_longest(numbers: Sequence[int]) -> int:
    lengths = _lengths(numbers)
    counts: list[int] = []
    for i, (number, length) in enumerate(zip(numbers, lengths)):
        ways = sum(counts[j] for j in range(i) if lengths[j] == length - 1 and numbers[j] < number)
        counts.append(ways if length > 1 else 1)
    longest = max(lengths)
    return sum(count for count, length in zip(counts, lengths) if length == longest)


def _canonical(spec: Spec) -> str:
    return " ".join(map(str, spec["numbers"]))


def _compact(spec: Spec) -> str:
    return f"I {_canonical(spec)}"


def _natural(spec: Spec) -> str:
    return (
        "Find the longest strictly increasing subsequence of this sequence (delete numbers without changing the order "
        f"of the rest):\n\n{', '.join(map(str, spec['numbers']))}\n\nExactly one subsequence has the greatest length. "
        "Give its numbers in order, separated by spaces, in \\boxed{...}, for example \\boxed{1 2 3}."
    )


def _solve(spec: Spec) -> Solution:
    """The steps are the lengths of the longest increasing subsequences that end at each number."""
    numbers, lengths = spec["numbers"], _lengths(spec["numbers"])
    wanted, later, answer = max(lengths), _LARGEST + 1, []
    for number, length in zip(reversed(numbers), reversed(lengths)):
        if length == wanted and number < later:
            answer.append(number)
            wanted, later = wanted - 1, number
    lines = [f"Longest that ends at {number}: {length}" for number, length in zip(numbers, lengths)]
    return Solution(" ".join(map(str, reversed(answer))), "".join(f"{n:x}" for n in lengths), "\n".join(lines))


def _check(spec: Spec, text: str) -> Verdict:
    text = text.strip()
    if len(text) > _MAX_CHARACTERS or _LIST.fullmatch(text) is None:
        return Verdict.fail("format", "expected numbers separated by spaces")
    chosen = [int(number) for number in _NUMBER.findall(text)]
    answer = " ".join(map(str, chosen))
    if any(a >= b for a, b in itertools.pairwise(chosen)):
        return Verdict.fail("wrong", "does not increase", answer)
    rest = iter(spec["numbers"])
    if not all(number in rest for number in chosen):
        return Verdict.fail("wrong", "is not a subsequence", answer)
    if len(chosen) < max(_lengths(spec["numbers"])):
        return Verdict.fail("wrong", "is not the longest", answer)
    return Verdict.ok(answer)


LIS = Task(
    name="lis",
    domain="sequences",
    summary="The longest increasing subsequence, which is unique; the level is the length of the sequence.",
    generator=Generator(levels=range(8, 15), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("sequences of eight numbers", levels=(8,), num_steps=500),),
)
