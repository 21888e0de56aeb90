"""A fixed set of problems: in epochs, what of it is not solved yet, and that as a whole to be examined."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.part import Source, scales_with
from assay.rng import Key
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


def epochs(memory: Memory, first: int, count: int, *, pool: Pool, drawn: int, size: int) -> list[Problem]:
    """Steps follow one another through the epochs; a refill reads ahead, and the next step reads that again."""
    key, begin = Key(memory.seed)("epochs"), memory.step * drawn + first
    return in_epochs(set_of(pool, memory.seed, size), key, begin, count)


@dataclass(frozen=True)
class Epochs(Source):
    """A fixed set of `size` problems, all of them once an epoch, in an order of its own each time."""

    size: int = scales_with("num_prompts", 512)
    does = epochs


def in_epochs(problems: Sequence[Problem], key: Key, begin: int, count: int) -> list[Problem]:
    """The problems at these places of endless epochs."""
    size = len(problems)
    touched = range(begin // size, (begin + count) // size + 1)
    orders = {epoch: key("order", epoch).generator().permutation(size) for epoch in touched}
    return [problems[orders[place // size][place % size]] for place in range(begin, begin + count)]


def set_of(pool: Pool, seed: int, size: int) -> tuple[Problem, ...]:
    """The set; a file may have fewer rows, and may have changed since another run."""
    return (problem_set.__wrapped__ if pool.finite else problem_set)(pool, seed, size)


@functools.lru_cache(maxsize=4)
def problem_set(pool: Pool, seed: int, size: int) -> tuple[Problem, ...]:
    """`size` different problems for training, the same in every process."""
    return tuple(pool.held_out(Key(seed)("epochs", "problems"), size, "train"))
