"""A cache of keys and values that outlives a call of the sampler, so that a known prefix of a prompt is not run again.

The cache is a tree of runs. A run is a stretch of tokens with the keys and values that an engine computed for them. It
hangs behind a token of another run, so a sequence is a path through the tree, and a prefix that sequences share is
stored once. When room is needed, the run that was not used for the longest goes first, among those on which no other
run hangs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from assay.engine.layout import in_common
from assay.types import Ids

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Piece(Generic[T]):
    """`count` tokens of one run. Their keys and values are in `rows`, after the first `skip` tokens there."""

    rows: T
    skip: int
    count: int


@dataclass(eq=False)
class _Run(Generic[T]):
    """A stretch of tokens behind token number `at` of the run above: 1 is its first token, 0 the place before it."""

    ids: Ids
    rows: T
    skip: int  # tokens in `rows` before the first token of this run
    above: _Run[T] | None
    at: int
    used: int = 0
    below: dict[tuple[int, int], _Run[T]] = field(
        default_factory=dict
    )  # runs that continue this one, by their `at` and their first token

    @property
    def size(self) -> int:
        return self.skip + len(self.ids)


class PrefixCache(Generic[T]):
    """The keys and values of at most `most` tokens, found by the token ids of a prefix.

    Example:
        cache.add(prompt, 0, rows)  # `rows`: what the engine computed for the tokens of the prompt
        cache.known(prompt_and_answer)  # [Piece(rows, skip=0, count=len(prompt))]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.clear()

    def clear(self) -> None:
        self.size = self._time = 0
        self._below: dict[tuple[int, int], _Run[T]] = {}

    def known(self, ids: Ids) -> list[Piece[T]]:
        """The cached pieces of a sequence's longest known prefix, in order. Their runs count as used now."""
        return [Piece(run.rows, run.skip, count) for run, count in self._path(ids)]

    def add(self, ids: Ids, start: int, rows: T) -> None:
        """Store `rows`, the keys and values of the tokens of `ids` from `start` on.

        Nothing is stored where the cache has no room, or where it does not know the tokens before `start`.
        """
        path = self._path(ids)
        known = sum(count for _, count in path)
        if not start <= known < len(ids) or self.size + len(ids) - start > self.most:
            return
        above, at = path[-1] if path else (None, 0)
        run = _Run(ids[known:].copy(), rows, known - start, above, at, self._time)
        (above.below if above else self._below)[at, int(ids[known])] = run
        self.size += run.size

    def make_room(self, tokens: int) -> int:
        """Drop runs until `tokens` more tokens fit, or half of the cache is free. Returns how many tokens fit now."""
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
        """The runs that spell the longest known prefix of a sequence, each with how many of its tokens belong to it."""
        self._time += 1
        path: list[tuple[_Run[T], int]] = []
        below, at, done = self._below, 0, 0
        while done < len(ids) and (run := below.get((at, int(ids[done])))):
            run.used = self._time
            at = in_common(run.ids, ids[done:])
            path.append((run, at))
            below, done = run.below, done + at
        return path

    def _runs(self) -> Iterator[_Run[T]]:
        waiting = list(self._below.values())
        while waiting:
            run = waiting.pop()
            waiting.extend(run.below.values())
            yield run
