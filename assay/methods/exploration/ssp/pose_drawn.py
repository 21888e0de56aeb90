"""Prompts that ask for a new problem beside one that its task draws."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.source.pose import Posing
from assay.tasks import posing_of, task
from assay.tasks.pose import PREFIX
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


def pose_drawn(memory: Memory, first: int, count: int, *, pool: Pool) -> list[Problem]:
    """The prompts for new problems. What each shows is drawn from the training split of its task."""
    names = [share.task for share in pool.shares]
    return [_asked(memory, i, names[i % len(names)], pool) for i in range(first, first + count)]


def _asked(memory: Memory, ordinal: int, name: str, pool: Pool) -> Problem:
    poses, posing, key = task(PREFIX + name), posing_of(task(name)), memory.key("drawn", memory.step, ordinal)
    only = dataclasses.replace(pool, shares=tuple(share for share in pool.shares if share.task == name))
    shown = [only.problem(key(i)) for i in range(posing.shown)]
    spec = {"shown": [problem.spec for problem in shown], "example": posing.seed}
    problem = poses.pose(spec, level=shown[0].level, wording=pool.wording)
    parents = tuple(dict.fromkeys(problem.id for problem in shown))
    return dataclasses.replace(problem, solution=None, parents=parents, provenance="posed")


class PoseDrawn(Posing):
    """Asks the policy for new problems of the pool's tasks, one task after the other. The prompt shows problems that
    the task draws: of a search their answer and the pages on the way to it (SSP 2510.18821).

        source=PoseDrawn()
        --mechanism.source pose-drawn
    """

    does = pose_drawn
    needs = ("texts",)
