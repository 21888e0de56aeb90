"""Sums and products as a person would ask for them. The answer is a number in plain words, and no other number."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from assay.tasks.said import MOST, gives_number
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

Ranges = Mapping[int, tuple[range, range]]
"""Level -> the numbers that the first term and the second may be."""

FACTORS: Ranges = {
    1: (range(2, 13), range(2, 21)),
    2: (range(2, 10), range(21, 100)),
    3: (range(11, 100), range(11, 100)),
}
ADDENDS: Ranges = {
    1: (range(11, 51), range(2, 10)),
    2: (range(10, 100), range(10, 100)),
    3: (range(100, 1000), range(100, 1000)),
}
EXAMPLES: Mapping[int, Sequence[tuple[int, int]]] = {
    1: ((12, 7), (35, 4), (48, 5)),
    2: ((23, 41), (57, 16), (38, 85)),
    3: ((231, 415), (570, 164), (382, 857)),
}
"""Level -> the sums that a question begins with. They are never asked for."""


def _by_product(ranges: tuple[range, range]) -> list[list[tuple[int, int]]]:
    found = defaultdict[int, list[tuple[int, int]]](list)
    for first in ranges[0]:
        for second in ranges[1]:
            found[first * second].append((first, second))
    return list(found.values())


_PRODUCTS = {level: _by_product(ranges) for level, ranges in FACTORS.items()}


def _factors(generator: np.random.Generator, level: int) -> Spec:
    """The product is drawn first, then its factors, so that no product is frequent."""
    pairs = _PRODUCTS[level][int(generator.integers(len(_PRODUCTS[level])))]
    return {"level": level, "terms": list(pairs[int(generator.integers(len(pairs)))])}


def _addends(generator: np.random.Generator, level: int) -> Spec:
    while True:
        terms = [int(generator.integers(numbers.start, numbers.stop)) for numbers in ADDENDS[level]]
        if tuple(terms) not in EXAMPLES[level]:
            return {"level": level, "terms": terms}


def _canonical(spec: Spec) -> str:
    return " ".join(map(str, sorted(spec["terms"])))


def _times(spec: Spec) -> str:
    first, second = spec["terms"]
    return f"What is {first} times {second}?"


def _sum(spec: Spec) -> str:
    first, second = spec["terms"]
    shown = "\n".join(f"{a} + {b} = {a + b}" for a, b in EXAMPLES[spec["level"]])
    return f"{shown}\n\nWrite the next line, for {first} + {second}."


def _checked(spec: Spec, text: str, value: int) -> Verdict:
    if len(text) > MOST or not text.isascii():
        return Verdict.fail("format", "long, or in other characters than numbers have here")
    return Verdict.ok(str(value)) if gives_number(text, value, spec["terms"]) else Verdict.fail("wrong")


TIMES = Task(
    name="times",
    domain="arithmetic",
    summary="A product; levels: 1 up to 12 times 20, 2 up to 9 times 99, 3 up to 99 times 99.",
    generator=Generator(levels=range(1, 4), instance=_factors, canonical=_canonical),
    wordings=Wordings(
        compact=lambda spec: f"m {'*'.join(map(str, spec['terms']))}",
        natural=_times,
        solve=lambda spec: Solution(str(math.prod(spec["terms"]))),
        manner="Answer with the result only.",
        unmarked=True,
    ),
    checker=Checker(check=lambda spec, text: _checked(spec, text, math.prod(spec["terms"]))),
)
SUMS = Task(
    name="sums",
    domain="arithmetic",
    summary="A sum, after three examples; levels: 1 numbers up to 50 and of one digit, 2 of two digits, 3 of three.",
    generator=Generator(levels=range(1, 4), instance=_addends, canonical=_canonical),
    wordings=Wordings(
        compact=lambda spec: f"a {'+'.join(map(str, spec['terms']))}",
        natural=_sum,
        solve=lambda spec: Solution(str(sum(spec["terms"]))),
        unmarked=True,
    ),
    checker=Checker(check=lambda spec, text: _checked(spec, text, sum(spec["terms"]))),
)
