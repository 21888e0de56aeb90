"""Which problems a step works on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.errors import DataError
from assay.memory import Memory
from assay.part import Source
from assay.rng import Key
from assay.source.epochs import Epochs
from assay.source.rows import draw
from assay.tasks import short, task
from assay.tasks.task import Split
from assay.types import Problem
from assay.verifiers.answers import Wording

__all__ = [
    "Epochs",
    "Levels",
    "Pool",
    "Share",
    "Uniform",
    "check_pool",
    "uniform",
]


@dataclass(frozen=True)
class Share:
    """One task at some levels, and how often it is drawn beside the others."""

    task: str
    levels: tuple[int, ...] = (1,)
    weight: float = 1.0


Levels = Callable[[Share], Sequence[int]]


@dataclass(frozen=True)
class Pool:
    """Where problems come from: a mixture of tasks, endless, in splits that cannot overlap."""

    shares: tuple[Share, ...]
    wording: Wording = "compact"
    left_out: tuple[str, ...] = ()  # ids of rows that are not asked: too long for the model, or of an exam known to it

    def problem(self, key: Key, split: Split = "train", *, levels: Levels | None = None) -> Problem:
        """The problem that this key names; `levels` says which of a share's levels may be drawn, if not all."""
        share = self.share_of(key)
        if task(share.task).rows is not None:
            rows = self.rows_of(share, split)
            return rows[key("instance").bits % len(rows)]
        open_to = share.levels if levels is None else levels(share)
        level = open_to[key("level").bits % len(open_to)]
        return task(share.task).problem(key("instance"), level=level, split=split, wording=self.wording)

    def share_of(self, key: Key) -> Share:
        """The share in which a number of [0, 1) falls when the weights are laid end to end."""
        left = key("share").bits / 2**64 * sum(share.weight for share in self.shares)
        for share in self.shares:
            left -= share.weight
            if left < 0:
                return share
        return self.shares[-1]

    @property
    def finite(self) -> bool:
        """Whether all of its problems are rows of files."""
        return all(task(share.task).rows is not None for share in self.shares)

    def rows_of(self, share: Share, split: Split) -> Sequence[Problem]:
        """The rows of a finite share that are of this split and may be asked; at least one."""
        found, left_out = task(share.task), frozenset(self.left_out)
        rows = found.rows_of(split)
        if left_out and not (rows := [row for row in rows if row.id not in left_out]):
            raise DataError(f"{found.summary}: all that fall into '{split}' are left out; nothing can be asked.")
        return rows

    def rows(self, split: Split) -> list[Problem]:
        """All different rows of a finite pool that are of this split and may be asked."""
        rows = (problem for share in self.shares for problem in self.rows_of(share, split))
        return list({problem.id: problem for problem in rows}.values())

    def held_out(self, key: Key, count: int, split: Split) -> list[Problem]:
        """`count` different problems of a split; all that there are where a finite pool has no more."""
        if self.finite:
            rows = self.rows(split)
            return [rows[i] for i in key("order").generator().permutation(len(rows))[:count]]
        found: dict[str, Problem] = {}
        for index in range(20 * count):
            problem = self.problem(key(index), split)
            found.setdefault(problem.id, problem)
            if len(found) == count:
                return list(found.values())
        raise DataError(
            f"only {len(found)} different '{split}' problems in {20 * count} draws, {count} were asked for; "
            "ask for fewer or add levels."
        )


Draw = Callable[[Memory, int, int], list[Problem]]
"""(memory, first ordinal, count) -> problems of this step. Ordinals number the draws of a step from 0."""


def uniform(memory: Memory, first: int, count: int, *, pool: Pool) -> list[Problem]:
    return draw(memory, first, count, pool=pool)


@dataclass(frozen=True)
class Uniform(Source):
    """Fresh problems from the pool, every draw independent of what was learnt; of a file every row once an epoch."""

    does = uniform


def check_pool(pool: Pool) -> None:
    """Fails on an empty mixture, an unknown task or level, before a run starts."""
    if not pool.shares or not any(share.weight > 0 for share in pool.shares):
        raise DataError("no problems: the task mixture is empty. Name one with --task; `assay list tasks` shows all.")
    for share in pool.shares:
        known: Sequence[int] = task(share.task).levels
        if not share.levels:
            raise DataError(f"task '{share.task}' is drawn at no level: name some of {known[0]} to {known[-1]}.")
        if not 0 <= share.weight < math.inf:
            raise DataError(f"task '{share.task}' has the weight {share.weight}: a weight is a number of 0 or more.")
        if task(share.task).rows is not None and pool.wording != "natural":
            raise DataError(
                f"{short(share.task)}: rows of a file stand in natural wording. Leave --wording out, or make the pool "
                "with wording='natural'."
            )
        if missing := [level for level in share.levels if level not in known]:
            raise DataError(f"task '{share.task}' has levels {known[0]} to {known[-1]}, not {missing[0]}.")
