"""Repair a small program that has one wrong line, given two results that it should have. Many repairs are right.

A program is lines of the form `b=a+3`. Its input is x and its result the last variable. A repair is right if the
program then agrees with the intended one on all inputs from 0 to 9, of which the question shows two: a repair that
only writes down a shown result is wrong. The score `patch` compares the repair with the intended one as text.
"""

from __future__ import annotations

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.verifiers.repairs import INPUTS, outputs, verdict_of


def _instance(generator: np.random.Generator, level: int) -> Spec:
    while True:
        right = [_line(generator, place) for place in range(level)]
        place = int(generator.integers(level))
        wrong = list(right)
        wrong[place] = _changed(generator, right[place])
        results, others = outputs(right), outputs(wrong)
        if results is None or others is None or len(set(results)) < len(results) / 2:
            continue
        if told := [x for x in INPUTS if results[x] != others[x]]:
            first = told[int(generator.integers(len(told)))]
            second = next(x for x in (*told, *INPUTS) if x != first)
            shown = [[x, results[x]] for x in sorted((first, second))]
            return {"right": right, "wrong": wrong, "shown": shown}


def _line(generator: np.random.Generator, place: int) -> str:
    """A line that uses the variable before it, so that every line matters."""
    before = "x" if place == 0 else "abcdef"[place - 1]
    operands = [before, "x" if generator.random() < 0.3 else str(int(generator.integers(1, 10)))]
    if generator.random() < 0.5:
        operands.reverse()
    return f"{'abcdef'[place]}={operands[0]}{'+-*'[int(generator.integers(3))]}{operands[1]}"


def _changed(generator: np.random.Generator, line: str) -> str:
    """The line with another operator, or another number."""
    digits = [place for place in range(2, len(line)) if line[place].isdecimal()]
    if digits and generator.random() < 0.6:
        others = [d for d in "123456789" if d != line[digits[0]]]
        return line[: digits[0]] + others[int(generator.integers(len(others)))] + line[digits[0] + 1 :]
    others = [operator for operator in "+-*" if operator != line[3]]
    return line[:3] + others[int(generator.integers(len(others)))] + line[4:]


def _canonical(spec: Spec) -> str:
    return f"{'|'.join(spec['wrong'])}->{'|'.join(spec['right'])}"


def _compact(spec: Spec) -> str:
    return f"X {'|'.join(spec['wrong'])}!{','.join(f'{x}:{y}' for x, y in spec['shown'])}"


def _natural(spec: Spec) -> str:
    program = "\n".join(spec["wrong"])
    wanted = " and ".join(f"{y} for x = {x}" for x, y in spec["shown"])
    return (
        f"The file main contains this program, whose input is x and whose result is its last variable:\n\n{program}\n\n"
        f"One line is wrong: the result should be {wanted}. Repair the program for all inputs by replacing one line. "
        "Give the edit in \\boxed{...}, in this form:\n\\boxed{\n### main\n<<<<<<< SEARCH\na line of the program\n"
        "=======\nthe line in its place\n>>>>>>> REPLACE\n}"
    )


def _edit(spec: Spec) -> tuple[str, str]:
    return next((was, now) for was, now in zip(spec["wrong"], spec["right"], strict=True) if was != now)


def _solve(spec: Spec) -> Solution:
    return Solution(">".join(_edit(spec)))


def _check(spec: Spec, text: str) -> Verdict:
    return verdict_of(spec["wrong"], spec["right"], text)


REPAIR = Task(
    name="repair",
    domain="programs",
    summary="Replace the one wrong line of a straight-line program; the level is the number of lines.",
    generator=Generator(levels=range(1, 7), first=2, instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("the wrong line of two", levels=(2,), num_steps=200),),
)
