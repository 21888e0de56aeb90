"""Answers that measure how hard a problem is before it trains."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.memory import Memory
from assay.methods.shaping.spo.values import PROBE, TrackValues
from assay.methods.shaping.spo.values import STORE as VALUES
from assay.part import Asking
from assay.types import Request


def probe(
    requests: Sequence[Request], memory: Memory, *, group_size: int, num: int, place: str = VALUES
) -> list[Request]:
    """The requests, with `num` more for each new problem, in the group of its first draw, tagged `probe`."""
    seen, result = set(memory.store(place)), list(requests)
    for request in requests:
        if request.problem.id not in seen:
            seen.add(request.problem.id)
            result += [dataclasses.replace(request, sample=group_size + i, tag=PROBE) for i in range(num)]
    return result


class Probe(Asking):
    """When a problem is drawn for the first time, `num` more answers measure its pass rate (SPO 2509.13232).

    ask=(Probe(num=8),)
    --mechanism.ask probe --mechanism.ask.0.num 8
    """

    reads = (TrackValues,)

    num: int = 8
    does = probe
