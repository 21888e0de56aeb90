"""Chains of + - * on larger numbers, with a calculator for one operation at a time.

The policy writes `[37*84]` to ask for a product, and the reply
follows at once. Intermediate values have at most four digits.
"""

from __future__ import annotations

import re

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds.tools import Scene, ToolError, takes_text, tools

ERROR = "!"
_OPERATORS = "+-*"
_LARGEST = 9999
_CALL = re.compile(r"([0-9]{1,9})([-+*])([0-9]{1,9})")
_ANSWER = re.compile(r"[0-9]{1,9}")


def _apply(value: int, operator: str, operand: int) -> int:
    return {"+": value + operand, "-": value - operand, "*": value * operand}[operator]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """A random instance. An operation whose value leaves the range is drawn again, operator and operand together."""
    value = start = int(generator.integers(10, 100))
    steps: list[list[str | int]] = []
    while len(steps) < level:
        operator, operand = _OPERATORS[int(generator.integers(3))], int(generator.integers(2, 100))
        after = _apply(value, operator, operand)
        if 10 <= after <= _LARGEST:
            steps.append([operator, operand])
            value = after
    return {"start": start, "steps": steps}


def _values(spec: Spec) -> list[int]:
    """The value at the start, and the value after each operation."""
    values = [spec["start"]]
    for operator, operand in spec["steps"]:
        values.append(_apply(values[-1], operator, operand))
    return values


def _calculate(scene: Scene, operation: str) -> str:
    """The value of the operation that was asked for."""
    call = _CALL.fullmatch(operation)
    if call is None:
        raise ToolError("expected one operation on whole numbers")
    left, operator, right = call.groups()
    return str(_apply(int(left), operator, int(right)))


def _canonical(spec: Spec) -> str:
    return f"{spec['start']}" + "".join(f"{operator}{operand}" for operator, operand in spec["steps"])


def _natural(spec: Spec) -> str:
    chain = f"{spec['start']} " + " ".join(f"{operator} {operand}" for operator, operand in spec["steps"])
    return (
        "Start with the first number and apply the operations strictly from left to right (multiplication does not "
        f"bind more tightly):\n\n{chain}\n\nWrite one operation on whole numbers in square brackets, like [37*84], to "
        "have it calculated: its value follows at once. Give the final value in \\boxed{...}."
    )


def _solve(spec: Spec) -> Solution:
    values = _values(spec)
    calls = (f"[{value}{operator}{operand}]" for value, (operator, operand) in zip(values, spec["steps"]))
    return Solution(str(values[-1]), "".join(f"{call}{value}" for call, value in zip(calls, values[1:])))


def _check(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= 32 else ""
    if _ANSWER.fullmatch(answer) is None:
        return Verdict.fail("format", "expected a whole number")
    value = str(int(answer))
    return Verdict.ok(value) if int(answer) == _values(spec)[-1] else Verdict.fail("wrong", answer=value)


CALCULATOR = Task(
    name="calculator",
    domain="tools",
    summary="Evaluate a chain of + - * from left to right with a calculator; the level is the number of operations.",
    generator=Generator(levels=range(2, 9), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=lambda spec: f"E {_canonical(spec)}", natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("chains of two operations with a calculator", levels=(2,), num_steps=84, context=256),),
    world=tools((takes_text("calculate", "operation"), _calculate), explain=lambda why: ERROR),
)
