"""Problems of a fixed set by their pass rates: those that are not solved yet, once all of them, or the hardest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.memory.examined import STORE, KeepExamined
from assay.part import Count, Source, scales_with
from assay.rng import Key
from assay.source.domains import Domain, mixed_files, restricted
from assay.source.epochs import in_epochs, set_of
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


def unsolved(
    memory: Memory,
    first: int,
    count: int,
    *,
    pool: Pool,
    drawn: int,
    size: int,
    most: float,
    tasks: Domain = "all",
    place: str = STORE,
) -> list[Problem]:
    """Problems in an order that is drawn anew in every epoch of every stage."""
    key, begin = Key(memory.seed)("unsolved", memory.stage), memory.step * drawn + first
    return in_epochs(_left(memory, restricted(pool, tasks), size, most, place), key, begin, count)


class Unsolved(Source):
    """Of a fixed set of `size` problems, draws those with a pass rate of at most `most` at the last examination
    (DeepSearch 2509.25454).

    Before the first examination all problems of the set are drawn.

        source=Unsolved(size=512)
        --mechanism.source unsolved --mechanism.source.size 512
    """

    reads = (KeepExamined,)

    size: Count = scales_with("num_prompts", 512)
    most: float = 0.25
    tasks: Domain = "all"  # of the pool's tasks: all, the first alone, or the others
    does = unsolved

    def unfit(self, pool: Pool) -> str | None:
        return mixed_files(pool, self.tasks)


def examine(
    memory: Memory,
    first: int,
    count: int,
    *,
    pool: Pool,
    size: int,
    most: float,
    tasks: Domain = "all",
    place: str = STORE,
) -> list[Problem]:
    """All problems of the set that are still unsolved."""
    return list(_left(memory, restricted(pool, tasks), size, most, place))


class Examine(Source):
    """Draws in one step all problems from which `unsolved` would draw.

    source=Examine(size=512)
    --mechanism.source examine --mechanism.source.size 512
    """

    reads = (KeepExamined,)

    size: Count = scales_with("num_prompts", 512)  # problems of the set
    most: float = 0.25  # the highest pass rate of a problem that counts as unsolved
    tasks: Domain = "all"  # of the pool's tasks: all, the first alone, or the others
    does = examine

    def unfit(self, pool: Pool) -> str | None:
        return mixed_files(pool, self.tasks)


def _left(memory: Memory, pool: Pool, size: int, most: float, place: str) -> Sequence[Problem]:
    """The problems with a pass rate of at most `most`; if there is none, the problems with the lowest pass rate."""
    problems, known = set_of(pool, memory.seed, size), memory.store(place)
    shares = [known.get(problem.id, 0.0) for problem in problems]
    highest = max(most, min(shares))
    return [problem for problem, share in zip(problems, shares, strict=True) if share <= highest]
