"""Packed rows: rows laid end to end without padding, with each distinct context stored once.

The tokens of all distinct contexts come first. Then come the inputs of every row: its response without the last token,
which predicts nothing. A row attends to its context and causally to itself, so the result is the same as if the row
were run alone.

Prompts of one step often begin alike: with a system message and worked examples. A *stem* is the beginning that
several contexts share. It is stored once, in front of all other contexts, and these several hold only the tokens behind
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assay.engine.footprint import LEAST_STEM
from assay.errors import DataError
from assay.types import Ids


@dataclass(frozen=True, eq=False)
class Layout:
    """N packed input tokens, and where they belong. The hidden state of token `predict[m]` predicts response token m.

    Example:
        layout = lay([prompt, prompt], [answer_1, answer_2])
        layout.ids  # the prompt, answer_1[:-1], answer_2[:-1]
    """

    ids: np.ndarray  # int64[N]
    positions: np.ndarray  # int64[N]
    predict: np.ndarray  # int64[M]
    context_at: np.ndarray  # int64[contexts + 1] offsets of the distinct contexts, stems among them
    context_of: np.ndarray  # int64[B] index of each row's context among the distinct ones
    start: np.ndarray  # int64[B] where a row's own inputs start
    length: np.ndarray  # int64[B] how many inputs of its own a row has
    blend_ids: np.ndarray | None = None  # int64[N] second tokens that are read in the same places
    blend_share: np.ndarray | None = None  # float32[N] the share of the second in what is read
    stem_of: np.ndarray | None = None  # int64[contexts] which of the contexts is the stem of each, or -1

    @property
    def stem_places(self) -> tuple[np.ndarray, np.ndarray]:
        """(where the stem of each context starts, and how long it is: 0 where there is none)."""
        size = np.diff(self.context_at)
        if self.stem_of is None:
            return np.zeros_like(size), np.zeros_like(size)
        return self.context_at[self.stem_of], np.where(self.stem_of < 0, 0, size[self.stem_of])

    def blended(self, others: np.ndarray, share: np.ndarray) -> Layout:
        """With these ids [M] blended, by these shares [M], into those of the rows. A context is read as it is."""
        ids, weight = self.ids.copy(), np.zeros(len(self.ids), np.float32)
        place = self.predict[1:]  # of each token but the last of its row, which is not read
        read = np.flatnonzero(place >= self.context_at[-1])
        ids[place[read]], weight[place[read]] = others[read], share[read]
        return replace(self, blend_ids=ids, blend_share=weight)


def distinct(arrays: Sequence[Ids]) -> tuple[np.ndarray, list[int]]:
    """(the index of each array among the distinct arrays, where each distinct array appears first), by content."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    which = np.empty(len(arrays), dtype=np.int64)
    for i, array in enumerate(arrays):
        index = seen.setdefault(array.astype("<i4", copy=False).tobytes(), len(seen))
        if index == len(first):
            first.append(i)
        which[i] = index
    return which, first


def hosted(arrays: Sequence[Ids]) -> tuple[np.ndarray, list[int]]:
    """As `distinct`, but an array that is a prefix of a longer one counts as the longer one.

    In a tree, every fork's prompt is a prefix of a path, so each token of the tree is run once.
    """
    which, first = distinct(arrays)
    spelt = [arrays[i].astype(">i4").tobytes() for i in first]  # bytes in the order of the ids
    order = sorted(range(len(first)), key=spelt.__getitem__)
    host = list(range(len(first)))
    for one, after in reversed(list(zip(order, order[1:]))):
        if spelt[after].startswith(spelt[one]):
            host[one] = host[after]
    hosts = sorted(set(host))
    number = {h: n for n, h in enumerate(hosts)}
    return np.array([number[host[w]] for w in which], dtype=np.int64), [first[h] for h in hosts]


def in_common(a: Ids, b: Ids) -> int:
    """The length of the common prefix of two sequences."""
    size = min(len(a), len(b))
    apart = np.flatnonzero(a[:size] != b[:size])
    return int(apart[0]) if len(apart) else size


@dataclass(eq=False)
class _Alike:
    """Neighbours in the order of their tokens, from `first` on, that begin with `common` equal tokens."""

    first: int
    common: int
    saved: int = 0  # tokens that need not be run, if parts of these have stems
    stems: list[tuple[int, int, int]] = field(default_factory=list)  # these parts: first, last, length of the stem


def stems(arrays: Sequence[Ids], least: int | None = None) -> tuple[np.ndarray, list[Ids]]:
    """Chooses the stems that save most tokens: (the index of each array's stem, or -1; the stems). The arrays are
    distinct.

    A stem is at least `least` tokens long (LEAST_STEM), and ends before the last token of each array: that token
    predicts the one that follows the array. An array has one stem. A few of many arrays that begin alike may have more
    in common: then either all share the beginning of all, or only the few share their longer beginning.
    """
    least = LEAST_STEM if least is None else least
    order = sorted(range(len(arrays)), key=lambda i: arrays[i].astype(">i4").tobytes())
    sorted_ = [arrays[i][:-1] for i in order]
    common = [in_common(a, b) for a, b in zip(sorted_, sorted_[1:])]
    open_ = [_Alike(0, 0)]
    for i, size in enumerate([*(size if size >= least else 0 for size in common), 0], 1):
        alike = _Alike(i - 1, size)  # number i, and those before it that begin alike
        while open_[-1].common > size:
            part = open_.pop()
            together = part.common * (i - part.first - 1)
            if together > part.saved:
                part.saved, part.stems = together, [(part.first, i, part.common)]
            into = open_[-1] if open_[-1].common >= size else alike
            into.saved, into.stems = into.saved + part.saved, into.stems + part.stems
            alike.first = part.first
        if open_[-1].common < size:
            open_.append(alike)
    stem_of, chosen = np.full(len(arrays), -1, np.int64), []
    for first, last, size in open_[0].stems:
        stem_of[order[first:last]] = len(chosen)
        chosen.append(sorted_[first][:size])
    return stem_of, chosen


def offsets(lengths: np.ndarray) -> np.ndarray:
    """The place where each piece begins if pieces of these lengths are laid end to end, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def ranges(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The ranges start[i] .. start[i] + length[i] - 1, end to end."""
    at = offsets(length)
    return np.repeat(start - at[:-1], length) + np.arange(at[-1])


def lay(contexts: Sequence[Ids], responses: Sequence[Ids] = (), *, shares: bool = False) -> Layout:
    """The layout of rows, each a context and a response. Without responses, contexts alone are run (prefill).

    `shares`: contexts that begin alike have stems.
    """
    which, first = distinct(contexts)
    unique = [contexts[i] for i in first]
    if any(len(c) == 0 for c in unique):
        raise DataError("a context is empty: the first token of an answer needs at least one token before it")
    stem_of, beginnings = stems(unique) if shares else (np.full(len(unique), -1, np.int64), [])
    before = np.array([0, *map(len, beginnings)], np.int64)[stem_of + 1]
    before = np.concatenate([np.zeros(len(beginnings), np.int64), before])  # tokens of the stem before each context
    whole = np.array([len(c) for c in (*beginnings, *unique)], np.int64)
    unique = [*beginnings, *(c[b:] for c, b in zip(unique, before[len(beginnings) :]))]
    which = which + len(beginnings)
    context_length = whole - before
    context_at = offsets(context_length)
    total = np.array([len(r) for r in responses], dtype=np.int64)
    length = np.maximum(total - 1, 0)
    start = context_at[-1] + offsets(length)[:-1]
    ids = np.concatenate([*unique, *(r[:-1] for r in responses)]) if unique else np.zeros(0, np.int64)
    positions = ranges(before, context_length)
    predict = np.zeros(0, np.int64)
    if len(responses):
        positions = np.concatenate([positions, ranges(whole[which], length)])
        at = offsets(total)
        predict = np.arange(at[-1]) + np.repeat(start - at[:-1] - 1, total)
        nonempty = total > 0
        predict[at[:-1][nonempty]] = (context_at[1:][which] - 1)[nonempty]
    stem_of = np.concatenate([np.full(len(beginnings), -1), stem_of]) if beginnings else None
    return Layout(ids.astype(np.int64), positions, predict, context_at, which, start, length, stem_of=stem_of)
