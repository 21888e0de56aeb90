"""Answers that are the values of two names, one digit each, as more than one task asks for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.tasks.steps import Ending
from assay.types import Verdict

_ANSWER = re.compile(r"([0-9])[ ,]*([0-9])")


def check_two(asked: str, values: Mapping[str, int], text: str, *, modulus: int) -> Verdict:
    """The verdict on an answer: the values of the two names, in the order in which they are asked for."""
    match = _ANSWER.fullmatch(text.strip())
    if match is None:
        return Verdict.fail("format", f"expected two numbers from 0 to {modulus - 1}")
    answer, right = match[1] + match[2], "".join(str(values[name]) for name in asked)
    return Verdict.ok(answer) if answer == right else Verdict.fail("wrong", answer=answer)


def ending_of_two(asked: str, said: Mapping[str, str], answer: str | None) -> Ending:
    """The ending of a chain whose steps gave these values."""
    match = _ANSWER.fullmatch(answer or "")
    if match is None:
        return "none"
    if not all(name in said for name in asked):
        return "shortcut"
    return "faithful" if [said[name] for name in asked] == [match[1], match[2]] else "contrary"
