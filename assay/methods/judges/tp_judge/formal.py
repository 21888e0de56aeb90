"""Steps of a solution as statements for Coq: read anew, each time more freely, until the prover can decide them.

A step is verified if its statement is proved, false if the negation is, and an error if neither is or nothing can be
read. An error says nothing about the step.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Literal

StepFate = Literal["verified", "false", "error"]
Prove = Callable[[Sequence[str]], Sequence[bool]]
"""Statements -> whether each is proved."""

_SIGNS = {
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{MIDDLE DOT}": "*",
    "\N{DIVISION SIGN}": "/",
    "\N{MINUS SIGN}": "-",
    "\\times": "*",
    "\\cdot": "*",
    "\\div": "/",
    " times ": "*",
    " plus ": "+",
    " minus ": "-",
    " divided by ": "/",
    " equals ": "=",
    " is ": "=",
}
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_UNITS = re.compile(r"(?<=\d)\s*[A-Za-z]{2,}\b|[$€£]")
_RUN = re.compile(r"(?<![-+*/=.^_!)\w])[-0-9(][-0-9+*/=() ]*=[-0-9+*/=() ]*\d\)*(?![\w^]|\.\d)")
_OPERATION = re.compile(r"[\d)]\s*[-+*/]")
_BEHIND = re.compile(r"(=\s*-?\d+)\s[^=]*$")
_MOST_CHARACTERS, _MOST_DIGITS = 200, 12


def _with_signs(step: str) -> str:
    """Signs of mathematics, and words for them, as operators."""
    for sign, operator in _SIGNS.items():
        step = step.replace(sign, operator)
    return step


def _without_units(step: str) -> str:
    """Without units behind numbers, signs of money and commas between thousands."""
    return _UNITS.sub(" ", _THOUSANDS.sub("", step))


def _equation_within(step: str) -> str:
    """The last part that is an equation."""
    found = _RUN.findall(step)
    return found[-1] if found else step


def _in_pairs(step: str) -> str:
    """Of a chain a = b = c the equations a = b and b = c, separated by `;`."""
    sides = step.split("=")
    return ";".join(f"{one}={two}" for one, two in zip(sides, sides[1:], strict=False)) if len(sides) > 2 else step


def _value_alone(step: str) -> str:
    """Without what follows the first number behind the last `=`."""
    return _BEHIND.sub(r"\1", step)


REPAIRS = (_with_signs, _without_units, _equation_within, _value_alone, _in_pairs)
"""What a reading does after an error, one more each time, on top of those before."""


def statement_of(step: str, repairs: int) -> str | None:
    """The statement of a step about natural numbers, after so many repairs; None if it cannot be read.

    Both sides are differences of natural numbers, so that L = R becomes L+ + R- = R+ + L-. A side a/b is multiplied
    out, with b other than 0.

        statement_of("3-5=-2", 0)  # (3+2=5)
    """
    for repair in REPAIRS[:repairs]:
        step = repair(step)
    if len(step) > _MOST_CHARACTERS:
        return None
    claims = [_claim(equation) for equation in step.split(";")]
    return None if None in claims else " /\\ ".join(claim for claim in claims if claim)


def _claim(equation: str) -> str | None:
    sides = equation.split("=")
    if len(sides) != 2 or not _OPERATION.search(equation):  # x = 3 claims nothing that could be verified
        return None
    try:
        left, right = (ast.parse(side.strip(), mode="eval").body for side in sides)
        conditions: list[str] = []
        for _ in range(2):  # a quotient on either side
            left, right = right, left
            if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div):
                conditions.append("{}<>{}".format(*_difference(left.right)))
                left, right = left.left, ast.BinOp(right, ast.Mult(), left.right)
        (more, less), (other_more, other_less) = _difference(left), _difference(right)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return " /\\ ".join([f"({_sum(more, other_less)}={_sum(other_more, less)})", *conditions])


def _difference(tree: ast.expr) -> tuple[str, str]:
    """An expression as the difference of two of natural numbers. Raises ValueError for what is not whole numbers with
    +, - and *.
    """
    if isinstance(tree, ast.Constant) and type(tree.value) is int and len(str(tree.value)) <= _MOST_DIGITS:
        return _number(tree.value), "0"
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        more, less = _difference(tree.operand)
        return less, more
    if not isinstance(tree, ast.BinOp):
        raise ValueError("no arithmetic of whole numbers")
    (a, b), (c, d) = _difference(tree.left), _difference(tree.right)
    match tree.op:
        case ast.Add():
            return _sum(a, c), _sum(b, d)
        case ast.Sub():
            return _sum(a, d), _sum(b, c)
        case ast.Mult():
            return _sum(_product(a, c), _product(b, d)), _sum(_product(a, d), _product(b, c))
        case _:
            raise ValueError("no arithmetic of whole numbers")


def _number(value: int) -> str:
    """A number of pieces below 1000: `lia` reads no numerals above 5000."""
    return str(value) if value < 1000 else f"({_number(value // 1000)}*1000+{value % 1000})"


def _sum(one: str, two: str) -> str:
    return two if one == "0" else one if two == "0" else f"({one}+{two})"


def _product(one: str, two: str) -> str:
    return "0" if "0" in (one, two) else f"{one}*{two}"


def fates(steps: Sequence[str], prove: Prove, *, repairs: int) -> list[StepFate]:
    """What the prover says of each step. After an error it is read anew, up to `repairs` times."""
    decided: dict[str, StepFate] = {}
    for round in range(repairs + 1):
        read = {step: statement_of(step, round) for step in dict.fromkeys(steps) if step not in decided}
        stated = [(step, statement) for step, statement in read.items() if statement]
        both = prove([text for _, statement in stated for text in (statement, f"~({statement})")]) if stated else []
        for (step, _), proved, refuted in zip(stated, both[::2], both[1::2], strict=True):
            if proved != refuted:
                decided[step] = "verified" if proved else "false"
    return [decided.get(step, "error") for step in steps]


def fate_of_all(steps: Sequence[StepFate]) -> StepFate:
    """A solution is false if a step is, verified if all are, and an error if it has none or one cannot be decided."""
    if "false" in steps:
        return "false"
    return "verified" if steps and "error" not in steps else "error"
