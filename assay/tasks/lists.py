"""Sorting and other functions on lists of digits, applied one after another.
Solutions show the list after each function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from assay.tasks.abilities import Concepts, OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

Digits = list[int]

_LENGTHS = range(5, 9)
_SHORTEST = 3  # the shortest list that a function may give: a shorter one can be guessed
_MAX_CHARACTERS = 256
_SEPARATORS = str.maketrans("", "", " ,[]")
_DIGITS = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Primitive:
    """A function of a list of digits and of a number `k`.

    Example:
        Primitive("keep the first {k} numbers", lambda x, k: x[:k], range(3, 6))
    """

    words: str  # in natural wording, with {k} where the number stands
    apply: Callable[[Digits, int], Digits]
    arguments: Sequence[int] = ()  # the values that k may have; (): the function does not use k


def _swap_ends(x: Digits) -> Digits:
    return [x[-1], *x[1:-1], x[0]] if len(x) > 1 else x


def _swap_neighbours(x: Digits) -> Digits:
    return [digit for i in range(0, len(x), 2) for digit in reversed(x[i : i + 2])]


PRIMITIVES: dict[str, Primitive] = {
    "s": Primitive("sort in increasing order", lambda x, k: sorted(x)),
    "S": Primitive("sort in decreasing order", lambda x, k: sorted(x, reverse=True)),
    "r": Primitive("reverse the list", lambda x, k: x[::-1]),
    "u": Primitive("keep the first occurrence of each number", lambda x, k: list(dict.fromkeys(x))),
    "e": Primitive("keep the even numbers", lambda x, k: [d for d in x if d % 2 == 0]),
    "o": Primitive("keep the odd numbers", lambda x, k: [d for d in x if d % 2]),
    "m": Primitive("replace each number by the largest so far, itself included", lambda x, k: list(accumulate(x, max))),
    "n": Primitive(
        "replace each number by the smallest so far, itself included", lambda x, k: list(accumulate(x, min))
    ),
    "p": Primitive(
        "replace each number by the last digit of the sum so far, itself included",
        lambda x, k: [total % 10 for total in accumulate(x)],
    ),
    "d": Primitive(
        "replace the list by the absolute differences of neighbours",
        lambda x, k: [abs(a - b) for a, b in pairwise(x)],
    ),
    "x": Primitive("exchange the first and the last number", lambda x, k: _swap_ends(x)),
    "z": Primitive("exchange the numbers in pairs: 1st and 2nd, 3rd and 4th, ...", lambda x, k: _swap_neighbours(x)),
    "h": Primitive("remove the first number", lambda x, k: x[1:]),
    "t": Primitive("remove the last number", lambda x, k: x[:-1]),
    "c": Primitive("replace each number n by 9 - n", lambda x, k: [9 - d for d in x]),
    "i": Primitive("keep the 1st, 3rd, 5th, ... number", lambda x, k: x[::2]),
    "j": Primitive("keep the 2nd, 4th, 6th, ... number", lambda x, k: x[1::2]),
    "+": Primitive(
        "add {k} to each number and keep the last digit", lambda x, k: [(d + k) % 10 for d in x], range(1, 10)
    ),
    "*": Primitive(
        "multiply each number by {k} and keep the last digit", lambda x, k: [d * k % 10 for d in x], (3, 7, 9)
    ),
    "<": Primitive("move the first {k} to the end, in their order", lambda x, k: x[k:] + x[:k], range(1, 4)),
    ">": Primitive("move the last {k} to the front, in their order", lambda x, k: x[-k:] + x[:-k], range(1, 4)),
    "g": Primitive("keep the numbers that are at least {k}", lambda x, k: [d for d in x if d >= k], range(2, 6)),
    "l": Primitive("keep the numbers that are less than {k}", lambda x, k: [d for d in x if d < k], range(5, 9)),
    "f": Primitive("keep the first {k} numbers", lambda x, k: x[:k], range(3, 6)),
}
_FUNCTIONS = (
    *(f"{name}{k}" for name, primitive in PRIMITIVES.items() for k in primitive.arguments or ("",)),
    *"sS",  # sorting comes twice as often as any other function
)


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """A random instance in which no list occurs twice. So every function
    matters, and the question is not the answer.
    """
    while True:
        draws = generator.random(1 + _LENGTHS.stop + level).tolist()
        length = _LENGTHS[int(draws[0] * len(_LENGTHS))]
        numbers = [int(u * 10) for u in draws[1 : 1 + length]]
        functions = [_FUNCTIONS[int(u * len(_FUNCTIONS))] for u in draws[1 + _LENGTHS.stop :]]
        lists = [numbers]
        for function in functions:
            lists.append(_apply(function, lists[-1]))
            if len(lists[-1]) < _SHORTEST or lists[-1] in lists[:-1]:
                break
        else:
            return {"numbers": numbers, "functions": functions}


def _apply(function: str, numbers: Digits) -> Digits:
    return PRIMITIVES[function[0]].apply(numbers, int(function[1:] or 0))


def _lists(spec: Spec) -> list[Digits]:
    """The list after each function."""
    return list(accumulate(spec["functions"], lambda x, f: _apply(f, x), initial=spec["numbers"]))[1:]


def _joined(numbers: Sequence[int]) -> str:
    return "".join(map(str, numbers))


def _canonical(spec: Spec) -> str:
    return f"{''.join(spec['functions'])} {_joined(spec['numbers'])}"


def _compact(spec: Spec) -> str:
    return f"L {_canonical(spec)}"


def _words(function: str) -> str:
    return PRIMITIVES[function[0]].words.format(k=function[1:])


def _natural(spec: Spec) -> str:
    numbers = ", ".join(map(str, spec["numbers"]))
    lines = "\n".join(f"{i}. {_words(function)}" for i, function in enumerate(spec["functions"], 1))
    return (
        f"Start with the list [{numbers}] and apply these operations, each to the result of the one before:\n\n"
        f"{lines}\n\n"
        "Show the list after each operation. Give the final list, its numbers in order and separated by commas, in "
        "\\boxed{...}, for example \\boxed{1, 2, 3}."
    )


def _solve(spec: Spec) -> Solution:
    lists = _lists(spec)
    lines = [f"{_words(function)}: {', '.join(map(str, x))}" for function, x in zip(spec["functions"], lists)]
    return Solution(_joined(lists[-1]), ",".join(map(_joined, lists)), "\n".join(lines))


def _check(spec: Spec, text: str) -> Verdict:
    if len(text) > _MAX_CHARACTERS:
        return Verdict.fail("format", f"longer than {_MAX_CHARACTERS} characters")
    answer = text.translate(_SEPARATORS)
    if _DIGITS.fullmatch(answer) is None:
        return Verdict.fail("format", "expected a list of digits")
    if answer == _joined(_lists(spec)[-1]):
        return Verdict.ok(answer)
    return Verdict.fail("wrong", answer=answer)


LIST_FN = Task(
    name="list-fn",
    domain="lists",
    summary="Sorting and other functions on lists of digits; the level is the number of functions in a row.",
    generator=Generator(levels=range(1, 7), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(
        Concepts(of=lambda spec: [function[0] for function in spec["functions"]]),
        OwnBase("one function on a list of digits", levels=(1,), num_steps=800),
    ),
)
