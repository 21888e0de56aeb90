"""Prompts that ask for new problems of the tasks that lack them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from assay.memory import Memory
from assay.memory.posed import STORE, AdmitPosed
from assay.methods.exploration.azr.seeded import short_of
from assay.part import Count, scales_with
from assay.source import Pose
from assay.source.pose import Posing, asked, sources
from assay.tasks import task
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


def pose_seeds(memory: Memory, first: int, count: int, *, pool: Pool, size: int, place: str = STORE) -> list[Problem]:
    """Prompts for the tasks that lack problems; for all tasks in turn once each has enough."""
    names = [share.task for share in pool.shares]
    lacking = short_of(memory, names, size, place)
    chosen = [name for name in lacking if set(sources(task(name))) <= {name}] or lacking or names
    return [asked(memory, i, chosen[i % len(chosen)], pool, place) for i in range(first, first + count)]


class PoseSeeds(Posing):
    """Asks for new problems as `pose` does, but only of tasks with fewer than `size` posed problems.

    A task whose prompt shows problems of other tasks waits until those have enough (AZR 2505.03335).

        source=PoseSeeds(size=256)
        --mechanism.source pose-seeds --mechanism.source.size 256
    """

    reads = (AdmitPosed,)
    world: ClassVar[str] = Pose.world

    size: Count = scales_with("num_prompts", 256, at=192)
    does = pose_seeds
    needs = ("texts",)
