"""Sources that draw from some of the pool's tasks only: the first one, or the others."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from assay.memory import Memory
from assay.part import Source
from assay.source.rows import draw, finite_shares
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool

Domain = Literal["all", "first", "others"]
"""Of the pool's tasks: all, the first alone, or all but the first."""


def restricted(pool: Pool, tasks: Domain) -> Pool:
    """The pool in which the other tasks have the weight 0. A pool of a single task stays as it is."""
    if tasks == "all" or len(pool.shares) == 1:
        return pool
    kept = [(place == 0) == (tasks == "first") for place in range(len(pool.shares))]
    shares = [s if keep else dataclasses.replace(s, weight=0.0) for s, keep in zip(pool.shares, kept, strict=True)]
    return dataclasses.replace(pool, shares=tuple(shares))


def mixed_files(pool: Pool, tasks: Domain) -> str | None:
    """Why a source of some of the tasks cannot draw from this pool; None if it can."""
    if tasks == "all" or len(pool.shares) == 1 or not finite_shares(pool):
        return None
    return (
        "its stages draw from some of the tasks only, and rows of files are counted for all tasks together: give "
        "generated tasks (--task), or a single file"
    )


def only(memory: Memory, first: int, count: int, *, pool: Pool, tasks: Domain) -> list[Problem]:
    """Problems by the weights of these tasks."""
    return draw(memory, first, count, pool=restricted(pool, tasks))


class Only(Source):
    """Draws from the first task of the pool, or from the others, by their weights.

    A pool of one task is drawn from whatever `tasks` says.

    For your own recipes: in the stages of a recipe on several tasks, which take them one after the other.

        source=Only(tasks="first")
        --mechanism.source only --mechanism.source.tasks first
    """

    tasks: Domain = "all"
    does = only

    def unfit(self, pool: Pool) -> str | None:
        return mixed_files(pool, self.tasks)
