"""Draws from a fixed set of problems, those with the most uncertain outcome first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.memory import Memory
from assay.methods.shaping.spo.values import STORE, TrackValues, value
from assay.part import Count, Positive, Source, scales_with
from assay.source.epochs import set_of
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


def uncertain(
    memory: Memory, first: int, count: int, *, pool: Pool, size: int, floor: float, place: str = STORE
) -> list[Problem]:
    """Problems in the order of exponential races with their weights as rates, which is that of draws without
    replacement.
    """
    problems, store = set_of(pool, memory.seed, size), memory.store(place)
    values = np.array([value(store, problem.id) for problem in problems])
    weights = np.sqrt(values * (1 - values)) + floor
    found: list[Problem] = []
    while len(found) < first + count:
        generator = memory.key("uncertain", memory.step, len(found)).generator()
        found += [problems[i] for i in np.argsort(generator.exponential(size=len(problems)) / weights)]
    return found[first : first + count]


class Uncertain(Source):
    """Draws problems of a fixed set with weights sqrt(v (1 - v)) + floor, where `track-values` stores v (SPO
    2509.13232).

    No problem is drawn twice in a step before all were drawn.

        source=Uncertain(size=8192)
        --mechanism.source uncertain --mechanism.source.size 8192
    """

    reads = (TrackValues,)

    size: Count = scales_with("num_prompts", 8192, at=1024)  # problems of the set
    floor: Positive = 0.05
    does = uncertain
