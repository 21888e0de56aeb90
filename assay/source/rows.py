"""Drawing from a pool: what a generator makes is drawn afresh, the rows of a file every one once an epoch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Problem

if TYPE_CHECKING:
    from assay.source import Levels, Pool

STORE = "rows"  # of the memory: how many rows each share has given so far, by its place in the pool


def draw(memory: Memory, first: int, count: int, *, pool: Pool, levels: Levels | None = None) -> list[Problem]:
    """The problems of these ordinals of the step. A share of rows goes on where it ended: after those that the steps
    before took from it, and those of the ordinals before.
    """
    key, taken = memory.key("problem", memory.step), memory.stores.get(STORE, {})
    finite = finite_shares(pool)
    places = shares_of(memory, pool, first + count) if finite else []
    rows_of = {place: pool.rows_of(pool.shares[place], "train") for place in finite}
    problems = []
    for ordinal in range(first, first + count):
        place = places[ordinal] if places else -1
        if place not in finite:
            problems.append(pool.problem(key(ordinal), levels=levels))
            continue
        turn = taken.get(str(place), 0) + places[:ordinal].count(place)
        rows = rows_of[place]
        epoch, at = divmod(turn, len(rows))
        problems.append(rows[_order(memory.seed, place, epoch, len(rows))[at]])
    return problems


def finite_shares(pool: Pool) -> set[int]:
    return {place for place, share in enumerate(pool.shares) if task(share.task).rows is not None}


def shares_of(memory: Memory, pool: Pool, count: int) -> list[int]:
    """From which share each of the first ordinals of this step is drawn."""
    key = memory.key("problem", memory.step)
    return [pool.shares.index(pool.share_of(key(ordinal))) for ordinal in range(count)]


@functools.lru_cache(maxsize=16)
def _order(seed: int, place: int, epoch: int, size: int) -> list[int]:
    return Key(seed)("rows", place, epoch).generator().permutation(size).tolist()


def count_rows(memory: Memory, episodes: Sequence[Episode], *, pool: Pool, drawn: int) -> Memory:
    """The memory with what this step took of each share of rows, its refills included."""
    finite = finite_shares(pool)
    if not finite:
        return memory
    ordinals = max([drawn, *(1 + episode.request.draw for episode in episodes if episode.provenance == "fresh")])
    store = memory.store(STORE)
    for place in shares_of(memory, pool, ordinals):
        if place in finite:
            store[str(place)] = store.get(str(place), 0) + 1
    return memory.keep(STORE, store)
