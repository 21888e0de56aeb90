"""Finds the final answer in a response, in each of the two wordings that problems have."""

from __future__ import annotations

from typing import Literal

Wording = Literal["compact", "natural"]  # compact: for small proxy models; natural: for real language models


def before_answer(text: str, wording: Wording) -> str:
    """The part of a worked solution before its final answer, up to and including the mark that begins the answer."""
    marks = ("#",) if wording == "compact" else ("\\boxed{", "####")
    return text[: max((text.rfind(mark) + len(mark) for mark in marks if mark in text), default=0)]


def count_answers(text: str, wording: Wording) -> int:
    """How many final answers a response marks. The last one is verified."""
    return text.count("#" if wording == "compact" else "\\boxed{")


def answer_place(text: str, wording: Wording) -> tuple[int, int] | None:
    """(begin, end) of the final answer of a response, spaces around it included; None if it has none.

    In compact wording, the answer is the text after the last '#', or the whole response. In natural wording, it is the
    content of the last \\boxed{...}.
    """
    if wording == "compact":
        return text.rfind("#") + 1, len(text)
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, begin = 1, start + len("\\boxed{")
    for position in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return begin, position
    return None


def find_answer(text: str, wording: Wording) -> str | None:
    """The final answer of a response, as `answer_place` finds it; None if it has none."""
    place = answer_place(text, wording)
    return None if place is None else text[slice(*place)].strip()
