"""Sources: which problems a step works on. A pool holds the tasks of a run, and a source draws problems from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from assay.errors import DataError, UsageError
from assay.host.reach import Reaches
from assay.memory import Memory
from assay.part import Source
from assay.rng import Key
from assay.source.domains import Only
from assay.source.epochs import Epochs
from assay.source.examined import Examine, Unsolved
from assay.source.pose import Pose
from assay.source.pose_examples import PoseExamples
from assay.source.rows import draw
from assay.tasks import FOREIGN, MADE_ON_DEMAND, of_hub, short, task
from assay.tasks.task import Split
from assay.types import Problem
from assay.verifiers.answers import Wording

__all__ = [
    "Epochs",
    "Examine",
    "Levels",
    "Only",
    "Pool",
    "Pose",
    "PoseExamples",
    "Share",
    "Uniform",
    "Unsolved",
    "check_pool",
    "uniform",
]


TaskName = Annotated[str, Reaches("downloads from the Hub the data set", "addresses", of_hub)]
"""The name of a task; that of data may name data sets of the Hub."""


@dataclass(frozen=True)
class Share:
    """One task of a pool, the levels at which it is drawn, and how often it is drawn relative to the other tasks.

    Share("countdown", levels=(3, 4), weight=2.0)
    """

    task: TaskName
    levels: tuple[int, ...] = (1,)
    weight: float = 1.0  # the share is drawn with probability weight / sum of the weights

    @property
    def written(self) -> str:
        """As `parse` reads it."""
        weight = "" if self.weight == 1 else f"={self.weight!r}"
        return f"{self.task}:{','.join(map(str, self.levels))}{weight}"

    @classmethod
    def parse(cls, text: str) -> Share:
        """The share that is written `NAME`, `NAME:LEVEL,LEVEL` or `NAME:LEVEL=WEIGHT`. Names such as `gym:NAME` and
        `judge:NAME` have a colon of their own.
        """
        mixed, _, weight = text.partition("=")
        kind, rest = _kinds(mixed)
        first, _, levels = (rest, "", "") if kind.endswith(FOREIGN) else rest.partition(":")
        name = kind + first
        known = task(name).generator
        try:
            chosen = tuple(int(level) for level in levels.split(",")) if levels else (known.first_level,)
            return cls(name, chosen, float(weight or 1))
        except ValueError:
            raise UsageError(f"--task {text}: write NAME, NAME:1,2 or NAME:1,2=0.5.") from None


def _kinds(text: str) -> tuple[str, str]:
    """What stands before the name of a task, as `silent:game:` does, and what is left."""
    rest = text
    while kind := next((kind for kind in MADE_ON_DEMAND if rest.startswith(kind)), ""):
        rest = rest.removeprefix(kind)
    return text[: len(text) - len(rest)], rest


Levels = Callable[[Share], Sequence[int]]
"""(share) -> the levels of this share that may be drawn now."""


@dataclass(frozen=True)
class Pool:
    """The problems of a run: a mixture of tasks. Training, validation and test problems never overlap.

    Pool((Share("countdown", levels=(3, 4)), Share("mod-chain", levels=(2,), weight=0.5)))
    --task countdown:3,4 --task mod-chain:2
    """

    shares: tuple[Share, ...]
    wording: Wording = "compact"
    left_out: tuple[str, ...] = ()  # ids of rows never drawn: too long for the model, or part of a known exam

    def problem(self, key: Key, split: Split = "train", *, levels: Levels | None = None) -> Problem:
        """The problem that this key draws: the same key draws the same problem. `levels` restricts a share's levels."""
        share = self.share_of(key)
        if task(share.task).generator.rows is not None:
            rows = self.rows_of(share, split)
            return rows[key("instance").bits % len(rows)]
        open_to = share.levels if levels is None else levels(share)
        level = open_to[key("level").bits % len(open_to)]
        return task(share.task).problem(key("instance"), level=level, split=split, wording=self.wording)

    def share_of(self, key: Key) -> Share:
        """The share that this key draws, with a probability in proportion to its weight."""
        left = key("share").bits / 2**64 * sum(share.weight for share in self.shares)
        for share in self.shares:
            left -= share.weight
            if left < 0:
                return share
        return self.shares[-1]

    @property
    def finite(self) -> bool:
        """Whether all problems of the pool are rows of files, so that their number is limited."""
        return all(task(share.task).generator.rows is not None for share in self.shares)

    def rows_of(self, share: Share, split: Split) -> Sequence[Problem]:
        """The rows of this split in a share that is a file, without those of `left_out`; at least one."""
        found, left_out = task(share.task), frozenset(self.left_out)
        rows = found.rows_of(split)
        if left_out and not (rows := [row for row in rows if row.id not in left_out]):
            raise DataError(f"{found.summary}: every row of the split '{split}' is left out; none can be drawn.")
        return rows

    def rows(self, split: Split) -> list[Problem]:
        """All different rows of this split in a finite pool, without those of `left_out`."""
        rows = (problem for share in self.shares for problem in self.rows_of(share, split))
        return list({problem.id: problem for problem in rows}.values())

    def held_out(self, key: Key, count: int, split: Split, *, least: int | None = None) -> list[Problem]:
        """`count` different problems of a split; fewer if a finite pool has fewer, or if `least` are enough where
        the levels of a generated task have no more.
        """
        if self.finite:
            rows = self.rows(split)
            return [rows[i] for i in key("order").generator().permutation(len(rows))[:count]]
        problems: dict[str, Problem] = {}
        for index in range(20 * count):
            problem = self.problem(key(index), split)
            problems.setdefault(problem.id, problem)
            if len(problems) == count:
                return list(problems.values())
        if least is not None and len(problems) >= least:
            return list(problems.values())
        levels = {share.task: task(share.task).generator.levels for share in self.shares}
        others = ", ".join(
            f"'{short(name)}' has levels {levels_of[0]} to {levels_of[-1]}" for name, levels_of in levels.items()
        )
        raise DataError(
            f"{count} different '{split}' problems were asked for, and {20 * count} draws gave only {len(problems)}. "
            f"Ask for fewer, or add levels: {others}."
        )


FEWEST = 8
"""Held-out problems: levels of a task that have fewer cannot be examined."""

Draw = Callable[[Memory, int, int], list[Problem]]
"""(memory, first, count) -> `count` problems of this step. `first` is the ordinal of the first of them: the draws of a
step are numbered from 0, and a refill goes on where the draw before it ended.
"""


def uniform(memory: Memory, first: int, count: int, *, pool: Pool) -> list[Problem]:
    """Problems by the weights of the pool, and by nothing that the run has learnt."""
    return draw(memory, first, count, pool=pool)


class Uniform(Source):
    """Draws problems by the weights of the pool alone. A task that is a file gives every row once in each epoch.

    source=Uniform()
    --mechanism.source uniform
    """

    does = uniform


def check_pool(pool: Pool) -> None:
    """Refuses an empty pool, an unknown task and an unknown level, before a run starts."""
    if not pool.shares or not any(share.weight > 0 for share in pool.shares):
        raise DataError("there are no problems: no task was given. Name one with --task; `assay list tasks` shows all.")
    for share in pool.shares:
        levels: Sequence[int] = task(share.task).generator.levels
        if not share.levels:
            raise DataError(f"task '{share.task}' is given without a level: name some of {levels[0]} to {levels[-1]}.")
        if not 0 <= share.weight < math.inf:
            raise DataError(f"task '{share.task}' has the weight {share.weight}: a weight is a number of 0 or more.")
        if task(share.task).generator.rows is not None and pool.wording != "natural":
            raise DataError(
                f"{short(share.task)}: the rows of a file have natural wording alone. Leave --wording out, or make the "
                "pool with wording='natural'."
            )
        if missing := [level for level in share.levels if level not in levels]:
            raise DataError(f"task '{share.task}' has levels {levels[0]} to {levels[-1]}, not {missing[0]}.")
