"""The first step of an answer alone: where answers are written step by step, and branch at the ends of steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from assay.memory import Memory
from assay.part import Asking, Count
from assay.types import Request, by_group


def first_of(requests: Sequence[Request], count: Callable[[Request], int], *, depth: int, least: int) -> list[Request]:
    """`count(first request)` requests for the first step of each group's answers. An answer that reaches the end of its
    step pauses. Groups with a given answer stay as they are.

    A step has max(ceil(limit / depth), least) tokens, but at most half the limit, so that an answer has at least two
    steps.
    """
    result: list[Request] = []
    for group in by_group(requests).values():
        first = group.members[0]
        step = max(-(-first.max_new // depth), min(least, -(-first.max_new // 2)))
        if any(request.max_new == 0 for request in group.members):
            result += group.members
            continue
        width = count(first)
        first = dataclasses.replace(first, max_new=step, pauses=step < first.max_new)
        result += [dataclasses.replace(first, sample=i) for i in range(width)]
    return result


def first_steps(
    requests: Sequence[Request], memory: Memory, *, width: int, depth: int, least: int, marks: str
) -> list[Request]:
    """`width` requests for first steps of each group."""
    if not marks:
        return first_of(requests, lambda _: width, depth=depth, least=least)
    asked = first_of(requests, lambda _: width, depth=1, least=1)
    return [request if request.max_new == 0 else _marked(request, tuple(marks)) for request in asked]


def _marked(request: Request, marks: tuple[str, ...]) -> Request:
    return dataclasses.replace(request, stop=(*request.stop, *marks), marks=marks, pauses=True)


class FirstSteps(Asking):
    """Asks for `width` first steps of each group; a step is one of `depth` equal parts of the answer limit.

    An answer has fewer steps if each of `depth` would have fewer than `least` tokens. With `marks` a step ends with one
    of these characters instead, however long it is.

        ask=(FirstSteps(least=4),)
        --mechanism.ask first-steps --mechanism.ask.0.least 4
    """

    formerly = ("steps",)

    width: Count = 8
    depth: Count = 64  # with 1 there is nothing to search
    least: Count = 1
    marks: str = ""  # the characters that end a step; "": steps end at their length
    does = first_steps
