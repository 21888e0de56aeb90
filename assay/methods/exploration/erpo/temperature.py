"""A sampling temperature for each problem, read from the memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.memory import Memory
from assay.methods.exploration.erpo.track import STORE, TrackTemperature
from assay.part import Asking
from assay.types import Request


def own_temperature(requests: Sequence[Request], memory: Memory, *, place: str = STORE) -> list[Request]:
    """The requests, each with the stored temperature of its problem."""
    known = memory.store(place)
    return [dataclasses.replace(r, temperature=known.get(r.problem.id, r.temperature)) for r in requests]


class OwnTemperature(Asking):
    """Samples each problem at the temperature that its history has led to, and a new problem at that of the run.

    ask=(OwnTemperature(),)
    --mechanism.ask own-temperature
    """

    reads = (TrackTemperature,)
    does = own_temperature
