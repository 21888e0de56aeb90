"""One task of the pool after the other, a stage for each."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.part import Source
from assay.source.domains import mixed_files
from assay.source.rows import draw
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


def in_turn(memory: Memory, first: int, count: int, *, pool: Pool) -> list[Problem]:
    """Problems of the task with the number (stage mod number of tasks), in the order of the pool."""
    turn = memory.stage % len(pool.shares)
    shares = [s if place == turn else dataclasses.replace(s, weight=0.0) for place, s in enumerate(pool.shares)]
    return draw(memory, first, count, pool=dataclasses.replace(pool, shares=tuple(shares)))


class InTurn(Source):
    """Draws from one task of the pool in each stage; after the last task comes the first one again."""

    does = in_turn

    def unfit(self, pool: Pool) -> str | None:
        return mixed_files(pool, "others")
