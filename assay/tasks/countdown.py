"""Reach a target with n numbers, each used exactly once, by + - * and exact /. Many answers are right.

The checker has a parser of its own, without recursion. It limits the size of an answer before anything is computed, and
calculates with exact fractions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from assay.tasks.abilities import OwnBase, Rewording
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

LARGEST_NUMBER = 15
TARGETS = range(10, 100)
_LARGEST_VALUE = 300  # of a product in the constructed solution
_MAX_CHARACTERS = 256
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
_ATOM = 3
_TEXT = re.compile(r"[-+*/() 0-9]+")
_TOKEN = re.compile(r"[0-9]+|[-+*/()]")

Part = tuple[int, str, int]  # value, text, precedence of its outermost operator
Fraction = tuple[int, int]  # numerator and denominator, not reduced: they stay small


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """Random numbers, and a random expression over them (the witness) whose value is the target."""
    while True:
        draws = generator.random(4 * level - 3).tolist()
        numbers = [1 + int(u * LARGEST_NUMBER) for u in draws[:level]]
        target, witness, _ = _random_tree(numbers, draws[level:])
        # Sums with at most one minus sign are left out, because a guesser would try them first.
        total = sum(numbers)
        if target in TARGETS and target not in (total, *(total - 2 * number for number in numbers)):
            return {"numbers": numbers, "target": target, "witness": witness}


def _random_tree(numbers: Sequence[int], draws: Sequence[float]) -> Part:
    parts: list[Part] = [(number, str(number), _ATOM) for number in numbers]
    for place in range(0, 3 * len(numbers) - 3, 3):
        a = parts.pop(int(draws[place] * len(parts)))
        b = parts.pop(int(draws[place + 1] * len(parts)))
        parts.append(_join(a, b, draws[place + 2]))
    return parts[0]


def _join(a: Part, b: Part, draw: float) -> Part:
    """Joins two parts by the first of / * - + that the draw allows and whose value is a small positive integer.

    With these shares, a fixed template such as a * b - c is right on few instances.
    """
    low, high = (a, b) if a[0] < b[0] else (b, a)
    x, y = high[0], low[0]
    if draw < 0.2 and y > 1 and x % y == 0:
        return _write(high, low, "/", x // y)
    if draw < 0.45 and y > 1 and x * y <= _LARGEST_VALUE:
        return _write(a, b, "*", x * y)
    if draw < 0.7 and x > y:
        return _write(high, low, "-", x - y)
    return _write(a, b, "+", x + y)


def _write(a: Part, b: Part, operator: str, value: int) -> Part:
    """The joined part, written with no more parentheses than needed."""
    level = _PRECEDENCE[operator]
    left = f"({a[1]})" if a[2] < level else a[1]
    tight = b[2] < level or (b[2] == level and operator in "-/")
    right = f"({b[1]})" if tight else b[1]
    return value, f"{left}{operator}{right}", level


def _canonical(spec: Spec) -> str:
    return f"{' '.join(map(str, sorted(spec['numbers'])))}={spec['target']}"


def _compact(spec: Spec) -> str:
    return f"C {' '.join(map(str, spec['numbers']))}={spec['target']}"


def _natural(spec: Spec) -> str:
    numbers = ", ".join(map(str, spec["numbers"]))
    return (
        f"Using the numbers {numbers}, write an expression whose value is exactly {spec['target']}. Use each of the "
        "numbers exactly once (a number that is listed twice is used twice). You may use +, -, *, / and parentheses, "
        "nothing else; division is exact, so fractions may appear on the way. Give the final expression alone, "
        "without an equals sign, in \\boxed{...}, for example \\boxed{(1+2)*3}."
    )


def _solve(spec: Spec) -> Solution:
    return Solution(spec["witness"])


def _reworded(spec: Spec, generator: np.random.Generator) -> Spec:
    """The numbers in another order."""
    return {**spec, "numbers": [spec["numbers"][i] for i in generator.permutation(len(spec["numbers"]))]}


def _check(spec: Spec, text: str) -> Verdict:
    text = text.strip()
    if not text:
        return Verdict.fail("empty")
    if len(text) > _MAX_CHARACTERS:
        return Verdict.fail("format", f"longer than {_MAX_CHARACTERS} characters")
    if _TEXT.fullmatch(text) is None:
        return Verdict.fail("format", "only + - * / ( ), digits and spaces are allowed")
    tokens = _TOKEN.findall(text)
    postfix = to_postfix(tokens)
    if postfix is None:
        return Verdict.fail("format", "not an expression")
    answer = "".join(tokens)
    # Numbers are compared as text, so '03' is not 3 and a number of any length costs nothing.
    if sorted(token for token in postfix if token not in _PRECEDENCE) != sorted(map(str, spec["numbers"])):
        return Verdict.fail("wrong", "does not use each number exactly once", answer)
    value = evaluate(postfix)
    if value is None:
        return Verdict.fail("wrong", "divides by zero", answer)
    if value[0] != spec["target"] * value[1]:
        return Verdict.fail("wrong", "has another value", answer)
    return Verdict.ok(answer)


def to_postfix(tokens: Sequence[str]) -> list[str] | None:
    """The tokens of an infix expression in reverse Polish order; None if they are no expression of binary operators."""
    output: list[str] = []
    waiting: list[str] = []
    operand_next = True
    for token in tokens:
        if token == "(":
            if not operand_next:
                return None
            waiting.append(token)
        elif token == ")":
            if operand_next:
                return None
            while waiting and waiting[-1] != "(":
                output.append(waiting.pop())
            if not waiting:
                return None
            waiting.pop()
        elif token in _PRECEDENCE:
            if operand_next:
                return None
            level = _PRECEDENCE[token]
            while waiting and waiting[-1] != "(" and _PRECEDENCE[waiting[-1]] >= level:
                output.append(waiting.pop())
            waiting.append(token)
            operand_next = True
        else:
            if not operand_next:
                return None
            output.append(token)
            operand_next = False
    if operand_next or "(" in waiting:
        return None
    return output + waiting[::-1]


def evaluate(postfix: Sequence[str]) -> Fraction | None:
    """The exact value as (numerator, denominator); None for a division by zero."""
    stack: list[Fraction] = []
    for token in postfix:
        if token not in _PRECEDENCE:
            stack.append((int(token), 1))
            continue
        (a, b), (c, d) = stack[-2], stack[-1]
        del stack[-1]
        if token == "+":
            stack[-1] = (a * d + c * b, b * d)
        elif token == "-":
            stack[-1] = (a * d - c * b, b * d)
        elif token == "*":
            stack[-1] = (a * c, b * d)
        elif c == 0:
            return None
        else:
            stack[-1] = (a * d, b * c)
    return stack[0]


COUNTDOWN = Task(
    name="countdown",
    domain="arithmetic",
    summary=(
        f"Reach a target from 10 to 99 with n numbers from 1 to {LARGEST_NUMBER}, each used exactly once; "
        "the level is n."
    ),
    generator=Generator(levels=range(3, 7), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(
        Rewording(again=_reworded),
        OwnBase(
            "expressions that reach a target with three or four numbers; the base of `make demo`",
            levels=(3, 4),
            num_steps=800,
            context=96,
            decays=True,
        ),
    ),
)
