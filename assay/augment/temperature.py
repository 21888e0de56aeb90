"""A sampling temperature for each problem, as the memory has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from assay.memory import Memory
from assay.memory.temperature import STORE
from assay.part import Part
from assay.types import Request


@dataclass(frozen=True)
class OwnTemperature(Part):
    """Every problem is answered at the temperature that its history has led to; a new one at that of the run."""


def own_temperature(requests: Sequence[Request], memory: Memory) -> list[Request]:
    known = memory.store(STORE)
    return [dataclasses.replace(r, temperature=known.get(r.problem.id, r.temperature)) for r in requests]
