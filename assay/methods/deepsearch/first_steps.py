"""First steps of answers that are written in steps, and answers that were found before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.memory import Memory
from assay.memory.places import Named
from assay.methods.deepsearch.solved import HoldSolved
from assay.part import Asking, for_caller
from assay.types import Request


def first_steps(requests: Sequence[Request], memory: Memory, *, width: int, depth: int, least: int) -> list[Request]:
    """What reaches the end of its step pauses. Groups in which an answer is given already are left alone.

    A step has max(ceil(limit / depth), least) tokens, and no more than half the limit, so that there are two.
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


@dataclass(frozen=True)
class FirstSteps(Asking):
    """Ask for `width` first steps of each group, a step being one of `depth` equal parts of the answer limit, or of
    fewer where they would have less than `least` tokens.
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
            f"first-steps: width, depth and least must be at least 1, not {self.width}, {self.depth} and {self.least}; "
            "depth 1 is no search."
        )


def recall(requests: Sequence[Request], memory: Memory, *, place: str) -> list[Request]:
    """At most one held answer a sample; nothing is generated for these."""
    held: dict[str, list] = {}
    for episode in memory.kept.get(place, ()):
        held.setdefault(episode.request.problem.id, []).append(episode.segments)
    result = []
    for request in requests:
        answers = held.get(request.problem.id, [])
        given = request.sample < len(answers)
        result.append(dataclasses.replace(request, prefix=answers[request.sample], max_new=0) if given else request)
    return result


@dataclass(frozen=True)
class Recall(Named, Asking):
    """Right answers that are held for a problem take the place of its first samples."""

    reads = (HoldSolved,)

    name: str = for_caller("solved")  # of the part that holds them
    does = recall
