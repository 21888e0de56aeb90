"""A fixed set of problems, which the steps of a run go through in epochs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from assay.memory import Memory
from assay.part import Count, Source, scales_with
from assay.rng import Key
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool

Item = TypeVar("Item")


def epochs(memory: Memory, first: int, count: int, *, pool: Pool, drawn: int, size: int) -> list[Problem]:
    """Each step takes the next `drawn` problems of the epochs. A refill takes problems of the next step in advance, and
    the next step takes them once more.
    """
    key, begin = Key(memory.seed)("epochs"), memory.step * drawn + first
    return in_epochs(set_of(pool, memory.seed, size), key, begin, count)


class Epochs(Source):
    """Draws from a fixed set of problems: each problem once in an epoch, in a new random order in each epoch.

    source=Epochs(size=512)
    --mechanism.source epochs --mechanism.source.size 512
    """

    size: Count = scales_with("num_prompts", 512)  # number of problems in the set
    does = epochs


def in_epochs(problems: Sequence[Item], key: Key, begin: int, count: int) -> list[Item]:
    """The items at the places `begin` to `begin + count - 1` of a sequence of epochs without end."""
    size = len(problems)
    touched = range(begin // size, (begin + count) // size + 1)
    orders = {epoch: key("order", epoch).generator().permutation(size) for epoch in touched}
    return [problems[orders[place // size][place % size]] for place in range(begin, begin + count)]


def set_of(pool: Pool, seed: int, size: int) -> tuple[Problem, ...]:
    """The fixed set of problems. It is not cached for files, because a file may have changed since the last run of this
    process. A file with fewer rows gives a smaller set.
    """
    return (problem_set.__wrapped__ if pool.finite else problem_set)(pool, seed, size)


@functools.lru_cache(maxsize=4)
def problem_set(pool: Pool, seed: int, size: int) -> tuple[Problem, ...]:
    """`size` different training problems; they depend on pool and seed alone."""
    return tuple(pool.held_out(Key(seed)("epochs", "problems"), size, "train"))
