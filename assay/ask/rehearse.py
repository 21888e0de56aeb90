"""Answers that were held are learnt from again, without anything being generated."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from assay.memory import Harvest, HoldTagged, Memory
from assay.memory.places import Named
from assay.part import Asking
from assay.types import Request


def rehearse(requests: Sequence[Request], memory: Memory, *, name: str, place: str) -> list[Request]:
    """Epochs follow one another through the steps; as many answers a step as were asked for, none if none is held."""
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


@dataclass(frozen=True)
class Rehearse(Named, Asking):
    """In place of every request one of the answers that are held, each once an epoch, in a new order each time."""

    reads = (Harvest, HoldTagged)

    name: str = "harvest"  # of the part that holds them
    does = rehearse
