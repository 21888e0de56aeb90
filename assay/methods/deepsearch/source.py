"""Problems that are not solved yet, and all of them once, to be examined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.methods.deepsearch.examined import STORE, KeepExamined
from assay.part import Source, scales_with
from assay.rng import Key
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
    place: str = STORE,
) -> list[Problem]:
    """An order of its own in every epoch of every stage."""
    key, begin = Key(memory.seed)("unsolved", memory.stage), memory.step * drawn + first
    return in_epochs(_left(memory, pool, size, most, place), key, begin, count)


@dataclass(frozen=True)
class Unsolved(Source):
    """Of a fixed set of `size` problems, in epochs, those of which at most this share of the answers was right when
    they were examined last (DeepSearch 2509.25454); all, before they were.
    """

    reads = (KeepExamined,)

    size: int = scales_with("num_prompts", 512)
    most: float = 0.25
    does = unsolved


def examine(
    memory: Memory, first: int, count: int, *, pool: Pool, size: int, most: float, place: str = STORE
) -> list[Problem]:
    return list(_left(memory, pool, size, most, place))


@dataclass(frozen=True)
class Examine(Source):
    """All that `unsolved` would draw from, in one step."""

    reads = (KeepExamined,)

    size: int = scales_with("num_prompts", 512)  # problems of the set
    most: float = 0.25  # share of right answers, at the last examination, up to which a problem stays
    does = examine


def _left(memory: Memory, pool: Pool, size: int, most: float, place: str) -> Sequence[Problem]:
    """share right <= most; where every problem is above that, those of the least share."""
    problems, known = set_of(pool, memory.seed, size), memory.store(place)
    shares = [known.get(problem.id, 0.0) for problem in problems]
    highest = max(most, min(shares))
    return [problem for problem, share in zip(problems, shares, strict=True) if share <= highest]
