"""Problems whose answer is a problem."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.memory.posed import pool_of
from assay.part import Part
from assay.tasks import task
from assay.tasks.pose import PREFIX
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


@dataclass(frozen=True)
class Pose(Part):
    """Asks for new problems of the pool's tasks, each in turn, showing some that were posed before."""


def pose(memory: Memory, first: int, count: int, *, pool: Pool) -> list[Problem]:
    problems = []
    for ordinal in range(first, first + count):
        name, key = pool.shares[ordinal % len(pool.shares)].task, memory.key("shown", memory.step, ordinal)
        asked, posing = task(PREFIX + name), task(name).posing
        assert posing is not None
        known = [entry for source in posing.sources or (name,) for entry in pool_of(memory, source)]
        shown = [known[key(place).bits % len(known)] for place in range(posing.shown)]
        spec = {"shown": [entry["spec"] for entry in shown], "example": posing.seed}
        problem = asked.pose(spec, level=asked.levels[0], wording=pool.wording)
        parents = tuple(dict.fromkeys(entry["id"] for entry in shown))
        problems.append(dataclasses.replace(problem, solution=None, parents=parents, provenance="posed"))
    return problems
