"""First steps of answers that are written in steps, and answers that were found before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.memory import Memory
from assay.part import Part
from assay.types import Request


@dataclass(frozen=True)
class Steps(Part):
    """Ask for `width` first steps of each group, a step being one of `depth` equal parts of the answer limit."""

    width: int = 8
    depth: int = 64


def steps(requests: Sequence[Request], memory: Memory, *, width: int, depth: int) -> list[Request]:
    """What reaches the end of its step pauses. Groups in which an answer is given already are left alone."""
    if width < 1 or depth < 1:
        raise ConfigError(f"steps: width and depth must be at least 1, not {width} and {depth}; depth 1 is no search.")
    groups: dict[str, list[Request]] = {}
    for request in requests:
        groups.setdefault(request.group, []).append(request)
    result: list[Request] = []
    for members in groups.values():
        first = members[0]
        step = -(-first.max_new // depth)
        if any(request.max_new == 0 for request in members):
            result += members
            continue
        first = dataclasses.replace(first, max_new=step, pauses=step < first.max_new)
        result += [dataclasses.replace(first, sample=i) for i in range(width)]
    return result


@dataclass(frozen=True)
class Recall(Part):
    """Right answers that are held for a problem take the place of its first samples."""

    name: str = "solved"


def recall(requests: Sequence[Request], memory: Memory, *, name: str) -> list[Request]:
    """At most one held answer a sample; nothing is generated for these."""
    held: dict[str, list] = {}
    for episode in memory.kept.get(name, ()):
        held.setdefault(episode.request.problem.id, []).append(episode.segments)
    result = []
    for request in requests:
        answers = held.get(request.problem.id, [])
        given = request.sample < len(answers)
        result.append(dataclasses.replace(request, prefix=answers[request.sample], max_new=0) if given else request)
    return result
