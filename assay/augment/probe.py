"""Answers that are asked for beside those that train."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.memory import Memory
from assay.memory.successes import STORE as SUCCESSES
from assay.memory.values import PROBE
from assay.memory.values import STORE as VALUES
from assay.part import Part
from assay.types import Request


@dataclass(frozen=True)
class Probe(Part):
    """The first time that a problem is asked, `num` answers more say how often it is solved (SPO 2509.13232)."""

    num: int = 8


def probe(requests: Sequence[Request], memory: Memory, *, group_size: int, num: int) -> list[Request]:
    """Once for each problem, in the group of its first draw, tagged `probe`."""
    seen, result = set(memory.store(VALUES)), list(requests)
    for request in requests:
        if request.problem.id not in seen:
            seen.add(request.problem.id)
            result += [dataclasses.replace(request, sample=group_size + i, tag=PROBE) for i in range(num)]
    return result


@dataclass(frozen=True)
class Replay(Part):
    """Each group has up to `num` right answers more that an earlier policy gave, drawn at random (RLEP 2507.07451)."""

    num: int = 2


def replay(requests: Sequence[Request], memory: Memory, *, group_size: int, num: int) -> list[Request]:
    """Nothing is generated for these; of a problem without such answers its group stays as it is."""
    held: dict[str, list] = {}
    for episode in memory.kept.get(SUCCESSES, ()):
        held.setdefault(episode.request.problem.id, []).append(episode.segments)
    result = list(requests)
    for request in {r.group: r for r in requests}.values():
        answers = held.get(request.problem.id, [])
        order = memory.key("replay", memory.step, request.group).generator().permutation(len(answers))
        for i, place in enumerate(np.asarray(order)[:num].tolist()):
            result.append(dataclasses.replace(request, sample=group_size + i, prefix=answers[place], max_new=0))
    return result
