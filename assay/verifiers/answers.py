"""Where an answer stands in a response, in the two wordings that problems have."""

from __future__ import annotations

from typing import Literal

Wording = Literal["compact", "natural"]  # for proxy models, and for real ones


def before_answer(text: str, wording: Wording) -> str:
    """A worked solution up to where its answer is stated."""
    marks = ("#",) if wording == "compact" else ("\\boxed{", "####")
    return text[: max((text.rfind(mark) + len(mark) for mark in marks if mark in text), default=0)]


def count_answers(text: str, wording: Wording) -> int:
    """How often an answer is marked: the last one is judged."""
    return text.count("#" if wording == "compact" else "\\boxed{")


def find_answer(text: str, wording: Wording) -> str | None:
    """Compact: what follows the last '#', or the whole text. Natural: what the last \\boxed{...} holds."""
    if wording == "compact":
        return text.rpartition("#")[2].strip()
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, begin = 1, start + len("\\boxed{")
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin:place].strip()
    return None
