"""Keys and values that outlast a call of the sampler, for calls whose prompts go on from what it ran.

They form a tree of runs. A run is some tokens with what an engine holds of them; it hangs behind a token of another
run, so a sequence is a path, and what sequences have in common is held once. The run that was used the longest ago, of
those on which no other hangs, goes first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from assay.types import Ids

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Piece(Generic[T]):
    """`count` tokens of what was handed over together, from `skip` on."""

    rows: T
    skip: int
    count: int


@dataclass(eq=False)
class _Run(Generic[T]):
    """Tokens behind token `at` of the run above, counted from 1; 0 is before the first."""

    ids: Ids
    rows: T
    skip: int  # rows before those of its tokens
    above: _Run[T] | None
    at: int
    used: int = 0
    below: dict[tuple[int, int], _Run[T]] = field(default_factory=dict)  # by their `at` and their first token

    @property
    def size(self) -> int:
        return self.skip + len(self.ids)


class PrefixCache(Generic[T]):
    """At most `most` tokens."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.clear()

    def clear(self) -> None:
        self.size = self._time = 0
        self._below: dict[tuple[int, int], _Run[T]] = {}

    def known(self, ids: Ids) -> list[Piece[T]]:
        """What is held of the beginning of a sequence, in order. It has been used now."""
        return [Piece(run.rows, run.skip, count) for run, count in self._path(ids)]

    def add(self, ids: Ids, start: int, rows: T) -> None:
        """What an engine holds of the tokens from `start` on. Dropped where there is no room, or nothing before it."""
        path = self._path(ids)
        known = sum(count for _, count in path)
        if not start <= known < len(ids) or self.size + len(ids) - start > self.most:
            return
        above, at = path[-1] if path else (None, 0)
        run = _Run(ids[known:].copy(), rows, known - start, above, at, self._time)
        (above.below if above else self._below)[at, int(ids[known])] = run
        self.size += run.size

    def make_room(self, tokens: int) -> int:
        """Let go what was not used for the longest, for so many more tokens or half of all; how many have room."""
        wanted = self.most - min(tokens, self.most // 2)
        if self.size > wanted:
            free = [(run.used, i, run) for i, run in enumerate(self._runs()) if not run.below]
            heapq.heapify(free)
            while self.size > wanted:
                _, i, run = heapq.heappop(free)
                above = run.above
                del (above.below if above else self._below)[run.at, int(run.ids[0])]
                self.size -= run.size
                if above and not above.below:
                    heapq.heappush(free, (above.used, -i - 1, above))
        return self.most - self.size

    def _path(self, ids: Ids) -> list[tuple[_Run[T], int]]:
        """The runs that spell the beginning of a sequence, and how many tokens of each."""
        self._time += 1
        path: list[tuple[_Run[T], int]] = []
        below, at, done = self._below, 0, 0
        while done < len(ids) and (run := below.get((at, int(ids[done])))):
            run.used = self._time
            at = _in_common(run.ids, ids[done:])
            path.append((run, at))
            below, done = run.below, done + at
        return path

    def _runs(self) -> Iterator[_Run[T]]:
        waiting = list(self._below.values())
        while waiting:
            run = waiting.pop()
            waiting.extend(run.below.values())
            yield run


def _in_common(a: Ids, b: Ids) -> int:
    """Tokens that two sequences have in common before they part."""
    size = min(len(a), len(b))
    apart = np.flatnonzero(a[:size] != b[:size])
    return int(apart[0]) if len(apart) else size
