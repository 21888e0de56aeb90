"""Draws from a fixed set of problems: all of them in turn, or those first of which least is known."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.memory import Memory
from assay.memory.values import STORE, value
from assay.part import Part, scales_with
from assay.rng import Key
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool


@dataclass(frozen=True)
class Epochs(Part):
    """A fixed set of `size` problems, all of them once an epoch, in an order of its own each time."""

    size: int = scales_with("num_prompts", 512)


def epochs(memory: Memory, first: int, count: int, *, pool: Pool, drawn: int, size: int) -> list[Problem]:
    """Steps follow one another through the epochs; a refill reads ahead, and the next step reads that again."""
    problems, key, begin = _chosen(pool, memory.seed, size), Key(memory.seed)("epochs"), memory.step * drawn + first
    size = len(problems)  # a file may have fewer rows
    touched = range(begin // size, (begin + count) // size + 1)
    orders = {epoch: key("order", epoch).generator().permutation(size) for epoch in touched}
    return [problems[orders[place // size][place % size]] for place in range(begin, begin + count)]


@dataclass(frozen=True)
class Uncertain(Part):
    """Problems of a fixed set with weights sqrt(v (1 - v)) + floor, v what `remember` track-values says of them; none
    twice in a step before all were drawn (SPO 2509.13232).
    """

    size: int = scales_with("num_prompts", 8192)
    floor: float = 0.05


def uncertain(memory: Memory, first: int, count: int, *, pool: Pool, size: int, floor: float) -> list[Problem]:
    """The order of exponential races with these rates is that of draws without replacement."""
    problems, store = _chosen(pool, memory.seed, size), memory.store(STORE)
    values = np.array([value(store, problem.id) for problem in problems])
    weights = np.sqrt(values * (1 - values)) + floor
    found: list[Problem] = []
    while len(found) < first + count:
        generator = memory.key("uncertain", memory.step, len(found)).generator()
        found += [problems[i] for i in np.argsort(generator.exponential(size=len(problems)) / weights)]
    return found[first : first + count]


def _chosen(pool: Pool, seed: int, size: int) -> tuple[Problem, ...]:
    choose = problem_set.__wrapped__ if pool.finite else problem_set  # a file may have changed since another run
    return choose(pool, seed, size)


@functools.lru_cache(maxsize=4)
def problem_set(pool: Pool, seed: int, size: int) -> tuple[Problem, ...]:
    """`size` different problems for training, the same in every process."""
    return tuple(pool.held_out(Key(seed)("epochs", "problems"), size, "train"))
