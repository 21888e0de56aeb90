"""Rows padded to a rectangle, as networks of `transformers` take them: on the right to learn, on the left to sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.engine.layout import Layout
from assay.types import Batch, Ids


@dataclass(frozen=True, eq=False)
class Padded:
    """A layout as a rectangle [B, T]. The logits at `predict[m]` of the flat rectangle predict response token m."""

    ids: Tensor  # int64[B, T]
    mask: Tensor  # int64[B, T], 1 where there is a token
    positions: Tensor  # int64[B, T]
    predict: Tensor  # int64[M]
    blend_ids: Tensor | None = None  # int64[B, T] second tokens that are read in the same places
    blend_share: Tensor | None = None  # [B, T] the share of the second in what is read


def pad(layout: Layout, *, device: torch.device) -> Padded:
    """A rectangle with each row behind its context. A context that several rows share is repeated for each of them."""
    starts, ends = layout.context_at[:-1], layout.context_at[1:]
    rows: list[np.ndarray] = []  # the tokens of each row, as indices into the layout
    row_of = np.zeros(len(layout.ids), np.int64)  # the row in the rectangle of each token of the layout,
    column = np.zeros(len(layout.ids), np.int64)  # and its column there
    for b in range(len(layout.start)):
        own = slice(int(layout.start[b]), int(layout.start[b] + layout.length[b]))
        shared = slice(int(starts[layout.context_of[b]]), int(ends[layout.context_of[b]]))
        size = shared.stop - shared.start
        rows.append(np.r_[shared, own])
        row_of[own] = row_of[shared] = b
        column[own], column[shared] = size + np.arange(own.stop - own.start), np.arange(size)
    ids, mask = rectangle([layout.ids[row] for row in rows], left=False)
    predict = (row_of * ids.shape[1] + column)[layout.predict]
    positions = np.tile(np.arange(ids.shape[1]), (len(rows), 1))

    def tensor(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    def filled(stream: np.ndarray, dtype: type) -> Tensor:
        result = np.zeros(ids.shape, dtype)
        for b, row in enumerate(rows):
            result[b, : len(row)] = stream[row]
        return tensor(result)

    blend_ids = None if layout.blend_ids is None else filled(layout.blend_ids, np.int64)
    blend_share = None if layout.blend_share is None else filled(layout.blend_share, np.float32)
    return Padded(tensor(ids), tensor(mask), tensor(positions), tensor(predict), blend_ids, blend_share)


def rectangle(rows: Sequence[Ids], *, left: bool) -> tuple[np.ndarray, np.ndarray]:
    """Ids int64[B, T] and a mask of the same shape. Padding repeats the row's first token, an id that surely exists."""
    width = max((len(row) for row in rows), default=0)
    ids, mask = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width), np.int64)
    for b, row in enumerate(rows):
        where = slice(width - len(row), None) if left else slice(0, len(row))
        ids[b] = row[0] if len(row) else 0
        ids[b, where], mask[b, where] = row, 1
    return ids, mask


def cut_rectangles(batch: Batch, *, tokens: int) -> list[np.ndarray]:
    """The row indices of each chunk: rows of similar length whose rectangle has at most `tokens` places.

    A row that is longer than `tokens` has a chunk of its own.
    """
    size = np.diff(batch.context_at) + np.maximum(batch.lengths - 1, 0)
    order = np.argsort(-size, kind="stable")
    chunks: list[np.ndarray] = []
    begin = 0
    while begin < len(order):
        count = max(1, tokens // max(int(size[order[begin]]), 1))
        chunks.append(order[begin : begin + count])
        begin += count
    return chunks
