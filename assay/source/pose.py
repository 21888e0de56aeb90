"""Prompts that ask the policy to pose new problems."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from assay.memory import Memory
from assay.memory.posed import STORE, AdmitPosed, pool_of
from assay.part import Source
from assay.tasks import able, posing_of, short, task
from assay.tasks.pose import PREFIX
from assay.tasks.pose import Posing as Posable
from assay.tasks.task import Task
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


class Posing(Source):
    """The base class of the sources that ask the policy for problems."""

    posed = True

    def unfit(self, pool: Pool) -> str | None:
        """Why the pool's tasks cannot be posed; None if they can."""
        for share in pool.shares:
            if task(share.task).ability(Posable) is None:
                return (
                    f"the recipe asks the policy for new problems, and the task '{short(share.task)}' cannot be "
                    f"posed: take {able(Posable)}."
                )
        return None


def pose(memory: Memory, first: int, count: int, *, pool: Pool, place: str = STORE) -> list[Problem]:
    """The prompts for new problems of the pool's tasks, in turn."""
    names = [share.task for share in pool.shares]
    return [asked(memory, i, names[i % len(names)], pool, place) for i in range(first, first + count)]


class Pose(Posing):
    """Asks the policy for new problems of the pool's tasks, one task after the other; the prompt shows some posed
    problems.

    Only tasks about programs, the pages of a search and the theorems of `metamath` can be posed.

        source=Pose()
        --mechanism.source pose
    """

    world: ClassVar[str] = "programs of a stack machine"

    reads = (AdmitPosed,)
    does = pose
    needs = ("texts",)


def sources(posed: Task) -> tuple[str, ...]:
    """The tasks whose problems the prompt for a new problem of this task shows."""
    return posing_of(posed).sources or (posed.name,)


def asked(memory: Memory, ordinal: int, name: str, pool: Pool, place: str) -> Problem:
    """The prompt for a new problem of this task. Which posed problems it shows is drawn anew for each prompt."""
    poses, posing = task(PREFIX + name), posing_of(task(name))
    key = memory.key("shown", memory.step, ordinal)
    known = [entry for source in sources(task(name)) for entry in pool_of(memory, source, place)]
    shown = [known[key(i).bits % len(known)] for i in range(posing.shown)]
    spec = {"shown": [entry["spec"] for entry in shown], "example": posing.seed}
    problem = poses.pose(spec, level=poses.generator.levels[0], wording=pool.wording)
    parents = tuple(dict.fromkeys(entry["id"] for entry in shown))
    return dataclasses.replace(problem, solution=None, parents=parents, provenance="posed")
