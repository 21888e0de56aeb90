"""Drawing from a pool: a generator makes a new problem at every draw, a file gives each row once in an epoch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Problem, drawn_in_step

if TYPE_CHECKING:
    from assay.source import Levels, Pool

STORE = "rows"  # a store of the memory: place of a share in the pool -> how many rows the share has given so far


def draw(memory: Memory, first: int, count: int, *, pool: Pool, levels: Levels | None = None) -> list[Problem]:
    """The problems with the ordinals `first` to `first + count - 1` of this step. A share that is a file goes on with
    the row after the last one that earlier steps, or earlier ordinals of this step, took from the file.
    """
    key, taken = memory.key("problem", memory.step), memory.stores.get(STORE, {})
    finite = finite_shares(pool)
    places = shares_of(memory, pool, first + count) if finite else []
    rows_of = {share: pool.rows_of(pool.shares[share], "train") for share in finite}
    problems = []
    for ordinal in range(first, first + count):
        share = places[ordinal] if places else -1
        if share not in finite:
            problems.append(pool.problem(key(ordinal), levels=levels))
            continue
        turn = taken.get(str(share), 0) + places[:ordinal].count(share)
        rows = rows_of[share]
        epoch, at = divmod(turn, len(rows))
        problems.append(rows[_order(memory.seed, share, epoch, len(rows))[at]])
    return problems


def finite_shares(pool: Pool) -> set[int]:
    """The places in the pool of the shares that are files."""
    return {place for place, share in enumerate(pool.shares) if task(share.task).generator.rows is not None}


def shares_of(memory: Memory, pool: Pool, count: int) -> list[int]:
    """For each of the first `count` ordinals of this step, the place of the share that it is drawn from."""
    key = memory.key("problem", memory.step)
    return [pool.shares.index(pool.share_of(key(ordinal))) for ordinal in range(count)]


@functools.lru_cache(maxsize=16)
def _order(seed: int, place: int, epoch: int, size: int) -> list[int]:
    """The random order of a file's rows in one epoch."""
    return Key(seed)("rows", place, epoch).generator().permutation(size).tolist()


def count_rows(memory: Memory, episodes: Sequence[Episode], *, pool: Pool, drawn: int) -> Memory:
    """The memory after this step has added the number of rows that it took from each file, refills included."""
    finite = finite_shares(pool)
    if not finite:
        return memory
    own = [episode for episode in episodes if episode.provenance != "replay"]
    store = memory.store(STORE)
    for place in shares_of(memory, pool, max(drawn, drawn_in_step(own))):
        if place in finite:
            store[str(place)] = store.get(str(place), 0) + 1
    return memory.keep(STORE, store)
