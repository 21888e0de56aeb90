"""Problems whose answer is a problem."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from assay.memory import Memory
from assay.methods.azr.memory import STORE, AdmitPosed, pool_of, short_of
from assay.part import Source, scales_with
from assay.tasks import TASKS, short, task
from assay.tasks.pose import PREFIX
from assay.tasks.task import Task
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


class _Posing(Source):
    """What sources have in common that ask the policy for problems."""

    posed = True

    def unfit(self, pool: Pool) -> str | None:
        for share in pool.shares:
            if task(share.task).posing is None:
                able = ", ".join(sorted(short(name) for name, known in TASKS.items() if known.posing is not None))
                return (
                    f"the recipe has new problems posed, and '{short(share.task)}' is no task that can be: take {able}."
                )
        return None


def pose(memory: Memory, first: int, count: int, *, pool: Pool, place: str = STORE) -> list[Problem]:
    names = [share.task for share in pool.shares]
    return [_asked(memory, i, names[i % len(names)], pool, place) for i in range(first, first + count)]


@dataclass(frozen=True)
class Pose(_Posing):
    """Asks for new problems of the pool's tasks, each in turn, showing some that were posed before. Tasks that can be
    posed are those of programs of a stack machine.
    """

    world: ClassVar[str] = "programs of a stack machine"

    reads = (AdmitPosed,)
    does = pose


def pose_seeds(memory: Memory, first: int, count: int, *, pool: Pool, size: int, place: str = STORE) -> list[Problem]:
    """All tasks in turn once there is enough of each."""
    names = [share.task for share in pool.shares]
    lacking = short_of(memory, names, size, place)
    chosen = [name for name in lacking if set(sources(task(name))) <= {name}] or lacking or names
    return [_asked(memory, i, chosen[i % len(chosen)], pool, place) for i in range(first, first + count)]


@dataclass(frozen=True)
class PoseSeeds(_Posing):
    """The same for those tasks alone of which fewer than `size` problems were posed so far.

    Tasks that show problems of others wait until those others have theirs (AZR 2505.03335).
    """

    reads = (AdmitPosed,)
    world: ClassVar[str] = Pose.world

    size: int = scales_with("num_prompts", 256, at=192)
    does = pose_seeds


def sources(posed: Task) -> tuple[str, ...]:
    """The tasks whose problems are shown to who poses problems of this one."""
    assert posed.posing is not None
    return posed.posing.sources or (posed.name,)


def _asked(memory: Memory, ordinal: int, name: str, pool: Pool, place: str) -> Problem:
    asked, posing = task(PREFIX + name), task(name).posing
    assert posing is not None
    key = memory.key("shown", memory.step, ordinal)
    known = [entry for source in sources(task(name)) for entry in pool_of(memory, source, place)]
    shown = [known[key(i).bits % len(known)] for i in range(posing.shown)]
    spec = {"shown": [entry["spec"] for entry in shown], "example": posing.seed}
    problem = asked.pose(spec, level=asked.levels[0], wording=pool.wording)
    parents = tuple(dict.fromkeys(entry["id"] for entry in shown))
    return dataclasses.replace(problem, solution=None, parents=parents, provenance="posed")
