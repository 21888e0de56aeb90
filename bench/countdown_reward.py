"""The reward of the comparison with TRL, one file for both: 1 where the expression uses each number once and reaches
the target. It knows nothing of either system, and shares no code with our own checker of countdown.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def score(
    completions: Sequence[Sequence[Mapping[str, str]]],
    numbers: Sequence[Sequence[int]],
    target: Sequence[int],
    **_: Any,
) -> list[float]:
    """1 or 0 for each answer; an answer is the text of one message of the assistant."""
    return [
        float(right(messages[-1]["content"], given, goal))
        for messages, given, goal in zip(completions, numbers, target, strict=True)
    ]


def right(text: str, numbers: Sequence[int], target: int) -> bool:
    answer = text.rpartition("#")[2].strip()
    if re.fullmatch(r"[-+*/() 0-9]{1,256}", answer) is None:
        return False
    if sorted(re.findall("[0-9]+", answer)) != sorted(map(str, numbers)):
        return False
    try:
        return _value(ast.parse(answer, mode="eval").body) == target
    except (SyntaxError, ZeroDivisionError, KeyError, TypeError):
        return False


def _value(node: ast.expr) -> Fraction:
    """The exact value; KeyError or TypeError for what is no sum, difference, product or quotient of numbers."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Fraction(node.value)
    if not isinstance(node, ast.BinOp):
        raise TypeError(type(node).__name__)
    return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
