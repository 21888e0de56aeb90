"""Problems with their variants: the same problem at several levels, which the task makes."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.part import Source
from assay.source.rows import draw
from assay.tasks import task
from assay.tasks.abilities import OtherLevels
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


def family_of(problem: Problem) -> str:
    """The id of the problem of which this one is a variant; its own if it is no variant."""
    return problem.parents[0] if problem.parents else problem.id


def at_level(base: Problem, level: int) -> Problem:
    """The variant of a problem at this level; the problem itself if its task makes no variants."""
    known = task(base.task)
    varied = known.ability(OtherLevels)
    if varied is None or level == base.level:
        return base
    made = known.pose(varied.at(base.spec, level), level=level, wording=base.wording)
    return dataclasses.replace(made, parents=(base.id,))


def basic(pool: Pool) -> Pool:
    """The pool with the lowest of the levels of each share whose task makes variants."""
    shares = (dataclasses.replace(s, levels=(min(s.levels),)) if _varies(s.task) else s for s in pool.shares)
    return dataclasses.replace(pool, shares=tuple(shares))


def levels_of(pool: Pool, problem: Problem) -> list[int]:
    """The levels at which a problem of the pool has variants, in order."""
    varied = (s.levels for s in pool.shares if s.task == problem.task and _varies(s.task))
    return sorted({level for levels in varied for level in levels}) or [problem.level]


def _varies(name: str) -> bool:
    return task(name).ability(OtherLevels) is not None


def variants(memory: Memory, first: int, count: int, *, pool: Pool) -> list[Problem]:
    """Base problem after base problem, each with its variants at all levels of its share; the last may lack some. The
    base names itself as parent, so that it is compared with its variants.
    """

    def families() -> Iterator[Problem]:
        for base in draw(memory, 0, first + count, pool=basic(pool)):
            known = dataclasses.replace(base, parents=(base.id,)) if _varies(base.task) else base
            yield from (at_level(known, level) for level in levels_of(pool, base))

    return list(itertools.islice(families(), first, first + count))


class Variants(Source):
    """Draws problems with all their variants: the same problem at each level of its share of the pool.

    `num_prompts` counts variants: with eight levels, 64 prompts are eight problems. A task without variants gives its
    problems one by one, as `uniform` does.

        source=Variants()
        --mechanism.source variants
    """

    does = variants
