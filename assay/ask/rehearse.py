"""Replay: the policy learns from answers that the memory holds, and generates none."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.memory import Harvest, HoldTagged, Memory
from assay.memory.places import Named
from assay.part import Asking
from assay.types import Request


def rehearse(requests: Sequence[Request], memory: Memory, *, name: str, place: str) -> list[Request]:
    """Each request becomes the next held answer, in epochs that go on from step to step. Returns no request if the
    memory holds no answer.
    """
    held = memory.kept.get(place, ())
    if not held:
        return []
    begin, found = memory.step * len(requests), []
    for turn, request in enumerate(requests, start=begin):
        epoch, index = divmod(turn, len(held))
        order = memory.key("rehearse", name, epoch).generator().permutation(len(held))
        episode = held[order[index]]
        changes = {"prefix": episode.segments, "max_new": 0, "group": request.group, "draw": request.draw}
        found.append(dataclasses.replace(episode.request, **changes, sample=request.sample))
    return found


class Rehearse(Named, Asking):
    """Replaces every request by an answer that `harvest` or `hold-tagged` holds: each answer once an epoch, reshuffled.

    ask=(Rehearse(name="harvest"),)
    --mechanism.ask rehearse --mechanism.ask.0.name harvest
    """

    reads = (Harvest, HoldTagged)

    name: str = "harvest"  # the name, or tag, of the part of `remember` that holds the answers
    does = rehearse
