"""A look at the problems of a pool before a run: the same first ones for whatever is measured on them."""

from __future__ import annotations

from collections.abc import Sequence

from assay.rng import Key
from assay.source import Pool
from assay.tasks import task
from assay.tasks.task import Task
from assay.types import Problem

_PROBED: dict[Pool, tuple[list[Task], list[Problem]]] = {}
"""Probed pool -> the tasks that made its problems, and the problems. They are valid while the pool has the same tasks.
"""


def probed(pool: Pool, count: int) -> Sequence[Problem]:
    """The first `count` problems that a look at a pool draws. Those of generated tasks are kept, since a study plans
    hundreds of runs on one pool; rows of files are read each time.
    """
    key, tasks = Key("probe"), [task(share.task) for share in pool.shares]
    made_by, problems = _PROBED.get(pool, (tasks, []))
    if not all(one is other for one, other in zip(tasks, made_by, strict=True)):
        problems = []
    problems = [*problems, *(pool.problem(key(i)) for i in range(len(problems), count))]
    if all(one.generator.rows is None for one in tasks):
        _PROBED[pool] = tasks, problems
    return problems[:count]
