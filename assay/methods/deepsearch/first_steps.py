"""Two ways to ask: for the first step of an answer alone, and with right answers that were stored earlier."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from assay.memory import Memory
from assay.memory.places import Named
from assay.methods.deepsearch.solved import HoldSolved
from assay.part import Asking, for_caller
from assay.types import Request


def first_steps(requests: Sequence[Request], memory: Memory, *, width: int, depth: int, least: int) -> list[Request]:
    """Requests for first steps; an answer that reaches the end of its step pauses. Groups with a given answer stay as
    they are.

    A step has max(ceil(limit / depth), least) tokens, but at most half the limit, so that an answer has at least two
    steps.
    """
    groups: dict[str, list[Request]] = {}
    for request in requests:
        groups.setdefault(request.group, []).append(request)
    result: list[Request] = []
    for members in groups.values():
        first = members[0]
        step = max(-(-first.max_new // depth), min(least, -(-first.max_new // 2)))
        if any(request.max_new == 0 for request in members):
            result += members
            continue
        first = dataclasses.replace(first, max_new=step, pauses=step < first.max_new)
        result += [dataclasses.replace(first, sample=i) for i in range(width)]
    return result


class FirstSteps(Asking):
    """Asks for `width` first steps of each group; a step is one of `depth` equal parts of the answer limit.

    An answer has fewer steps if each of `depth` would have fewer than `least` tokens.

        ask=(FirstSteps(least=4),)
        --mechanism.ask first-steps --mechanism.ask.0.least 4
    """

    formerly = ("steps",)

    width: int = 8
    depth: int = 64
    least: int = 1
    does = first_steps

    def refusal(self, **_: Any) -> str | None:
        if min(self.width, self.depth, self.least) >= 1:
            return None
        return (
            f"first-steps: width, depth and least must be at least 1, not {self.width}, {self.depth} and "
            f"{self.least}; with depth 1 there is nothing to search."
        )


def recall(requests: Sequence[Request], memory: Memory, *, place: str) -> list[Request]:
    """The requests, of which the first ones of a problem are answered by its stored answers."""
    held: dict[str, list] = {}
    for episode in memory.kept.get(place, ()):
        held.setdefault(episode.request.problem.id, []).append(episode.segments)
    result = []
    for request in requests:
        answers = held.get(request.problem.id, [])
        given = request.sample < len(answers)
        result.append(dataclasses.replace(request, prefix=answers[request.sample], max_new=0) if given else request)
    return result


class Recall(Named, Asking):
    """The stored right answers to a problem replace its first samples; the policy is not asked for these.

    ask=(Recall(),)
    --mechanism.ask recall
    """

    reads = (HoldSolved,)

    name: str = for_caller("solved")  # the name of the part that stores the answers
    does = recall
