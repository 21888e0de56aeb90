"""The attention plan of packed rows: which queries attend to which keys, in rectangles for batched products.

A *block* is a set of rows of similar length. Its keys are padded to one rectangle, in which every context ends where
its row begins. The queries of long rows are cut into *pieces*; a piece reads keys only up to its own last query.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from assay.engine.layout import Layout, offsets, ranges
from assay.engine.torch.varlen import Sequences

BLOCK_SCORES = 1 << 20  # attention scores of a block over all heads; keeps them in the outer caches
PIECE_QUERIES = 64


@dataclass(frozen=True, eq=False)
class Piece:
    """Some queries of the rows of a block, against the first `keys` key columns of the block."""

    rows: int
    queries: int
    keys: int
    width: int  # key columns of the whole block
    q_at: int  # offset in the flat query buffer, in vectors
    k_at: int  # offset in the flat key buffer, in vectors
    mask: Tensor  # [rows or 1, 1, queries, keys]: 0 or -inf


@dataclass(frozen=True, eq=False)
class AttentionPlan:
    """Indices that gather the network's vectors into the flat buffers of the pieces, and back.

    The network has queries and keys as vectors of [N, heads + kv_heads, d]. Its values are the last vectors of
    [N, heads + 2 kv_heads, d]. The pieces read *flat* buffers, one of queries, one of keys and one of values, in which
    the vectors stand in the order of the pieces.
    """

    heads: int
    kv_heads: int
    queries: Tensor  # for each flat query, its vector in the network's queries and keys
    queries_in_heads: Tensor  # for each flat query, its vector in [N, heads, d]
    keys: Tensor  # for each flat key, its vector in the network's queries and keys
    values: Tensor  # for each flat value, its vector in the network's values
    padding: Tensor  # the flat queries that are padding
    outputs: Tensor  # for each (token, head), its flat query
    own: Tensor  # for each (token, kv head), its flat key; of several copies the one in the token's own row
    both: Tensor  # for each vector of queries and keys, its place in the flat queries followed by the flat keys
    copies: Tensor  # the flat keys that repeat a context token for a row that shares the context
    copied_keys: Tensor  # for each such copy, the vector that it repeats, in queries and keys
    copied_values: Tensor  # for each such copy, the (token, kv head) that it repeats
    pieces: tuple[Piece, ...]

    @property
    def scores(self) -> int:
        """How many attention scores all pieces have."""
        return sum(p.rows * self.heads * p.queries * p.keys for p in self.pieces)


@dataclass(frozen=True, eq=False)
class Packed:
    """A layout as tensors on the device, with its attention plan."""

    ids: Tensor  # int64[N]
    positions: Tensor  # int64[N]
    predict: Tensor  # int64[M]
    longest: int  # the greatest position plus one
    plan: AttentionPlan | Sequences
    blend_ids: Tensor | None = None  # int64[N]
    blend_share: Tensor | None = None  # [N]


@dataclass(frozen=True, eq=False)
class Onward:
    """Rows whose prefixes are cached: only the tokens behind the prefix are run.

    Attention numbers the N tokens that are run first, and the cached tokens after them.
    """

    ids: np.ndarray  # int64[N] the tokens that are run
    length: np.ndarray  # int64[rows] how many of them each row has
    known_at: np.ndarray  # int64[rows] where a row's prefix begins among the cached tokens
    known: np.ndarray  # int64[rows] how many tokens the prefix has
    total: int  # cached tokens of all rows
    stem_at: np.ndarray  # int64[rows] where the stem before a row begins among the tokens that are run
    stem: np.ndarray  # int64[rows] how many tokens of it the row begins with; 0 if a prefix is known


@dataclass(frozen=True)
class _Rows:
    """Rows to make blocks of: where each row's own tokens, its context and the stem before that start, and how long
    these are.
    """

    start: np.ndarray
    length: np.ndarray
    context_start: np.ndarray
    context_length: np.ndarray
    stem_start: np.ndarray
    stem_length: np.ndarray

    @property
    def ahead(self) -> np.ndarray:
        """How many tokens a row has before its own."""
        return self.stem_length + self.context_length


def pack(layout: Layout, *, heads: int, kv_heads: int, device: torch.device, flash: bool = False) -> Packed:
    """The tensors and the attention plan of a layout. Contexts count as rows of their own, so a layout may lack rows.

    With `flash`, attention is planned for the GPU kernel that takes sequences; without, for products in blocks.
    """
    return Packed(
        ids=torch.from_numpy(layout.ids).to(device),
        positions=torch.from_numpy(layout.positions).to(device),
        predict=torch.from_numpy(layout.predict).to(device),
        longest=int(layout.positions.max(initial=0)) + 1,
        plan=Sequences.of(layout, heads=heads, device=device) if flash else _blocked(layout, heads, kv_heads, device),
        blend_ids=None if layout.blend_ids is None else torch.from_numpy(layout.blend_ids).to(device),
        blend_share=None if layout.blend_share is None else torch.from_numpy(layout.blend_share).to(device),
    )


def _blocked(layout: Layout, heads: int, kv_heads: int, device: torch.device) -> AttentionPlan:
    at, which = layout.context_at[:-1], layout.context_of
    size, stem, stem_size = np.diff(layout.context_at), *layout.stem_places
    nothing = np.zeros(len(size), np.int64)
    sets = [_Rows(at, size, nothing, nothing, stem, stem_size)]
    if len(layout.start):
        sets.append(_Rows(layout.start, layout.length, at[which], size[which], stem[which], stem_size[which]))
    return _plan(sets, len(layout.ids), heads, kv_heads, device)


def pack_onward(onward: Onward, *, heads: int, kv_heads: int, device: torch.device) -> Packed:
    """The tensors and the attention plan of rows behind cached prefixes. No token is predicted."""
    count, start = len(onward.ids), offsets(onward.length)[:-1]
    rows = _Rows(start, onward.length, count + onward.known_at, onward.known, onward.stem_at, onward.stem)
    positions = ranges(rows.ahead, onward.length)
    return Packed(
        ids=torch.from_numpy(onward.ids).to(device),
        positions=torch.from_numpy(positions).to(device),
        predict=torch.zeros(0, dtype=torch.int64, device=device),
        longest=int(positions.max()) + 1,
        plan=_plan([rows], count + onward.total, heads, kv_heads, device),
    )


def _blocks(rows: _Rows, heads: int) -> list[np.ndarray]:
    """The rows of each block: similar lengths together, longest first, at most `BLOCK_SCORES` scores (or one row)."""
    order = np.lexsort((-rows.ahead, -rows.length))
    order = order[rows.length[order] > 0]
    blocks: list[np.ndarray] = []
    begin = 0
    while begin < len(order):
        longest = int(rows.length[order[begin]])
        end, context = begin, 0
        while end < len(order) and longest - rows.length[order[end]] <= max(4, longest // 8):
            context = max(context, int(rows.ahead[order[end]]))
            if end > begin and (end - begin + 1) * heads * longest * (context + longest) > BLOCK_SCORES:
                break
            end += 1
        blocks.append(order[begin:end])
        begin = end
    return blocks


def _plan(sets: list[_Rows], count: int, heads: int, kv_heads: int, device: torch.device) -> AttentionPlan:
    draft = _Draft(heads, kv_heads, np.zeros(count * heads, np.int64), np.zeros(count * kv_heads, np.int64))
    for rows in sets:
        for block in _blocks(rows, heads):
            draft.add(rows, block)
    return draft.plan(device)


@dataclass(eq=False)
class _Draft:
    """A plan that grows by one block at a time, with indices into [N, heads] for queries and [N, kv_heads] for keys."""

    heads: int
    kv_heads: int
    q_inverse: np.ndarray
    k_inverse: np.ndarray
    q: list[np.ndarray] = field(default_factory=list)
    k: list[np.ndarray] = field(default_factory=list)
    padding: list[np.ndarray] = field(default_factory=list)
    copies: list[np.ndarray] = field(default_factory=list)
    copied: list[np.ndarray] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    q_at: int = 0
    k_at: int = 0

    def add(self, rows: _Rows, block: np.ndarray) -> None:
        own, context = rows.length[block], rows.ahead[block]
        start = rows.start[block][:, None]
        height, left = int(own.max()), int(context.max())
        column = np.arange(left + height) - left  # 0 is the first token of the row itself
        low = 0
        while low < height:
            high = low + PIECE_QUERIES
            high = height if height - high < PIECE_QUERIES // 2 else high
            query = np.arange(low, high)
            keys = left + high
            self._add_piece(
                start,
                query,
                own,
                Piece(
                    rows=len(block),
                    queries=high - low,
                    keys=keys,
                    width=left + height,
                    q_at=self.q_at,
                    k_at=self.k_at,
                    mask=_mask(context, left, query, column[:keys]),
                ),
            )
            low = high
        self._add_keys(rows, block, column)

    def _add_piece(self, start: np.ndarray, query: np.ndarray, own: np.ndarray, piece: Piece) -> None:
        head = np.arange(self.heads).reshape(1, self.kv_heads, -1, 1)
        valid = query < own[:, None]
        asked = np.where(valid, start + query, 0)[:, None, None, :] * self.heads + head
        place = self.q_at + np.arange(asked.size).reshape(asked.shape)
        valid = np.broadcast_to(valid[:, None, None, :], asked.shape)
        self.q_inverse[asked[valid]] = place[valid]
        self.padding.append(place[~valid])
        self.q.append(asked.ravel())
        self.q_at += asked.size
        self.pieces.append(piece)

    def _add_keys(self, rows: _Rows, block: np.ndarray, column: np.ndarray) -> None:
        own, near, ahead = (x[block][:, None] for x in (rows.length, rows.context_length, rows.ahead))
        start, context, stem = (x[block][:, None] for x in (rows.start, rows.context_start, rows.stem_start))
        real = (column >= -ahead) & (column < own)
        place = np.where(column < 0, np.where(column < -near, stem + ahead, context + near), start) + column
        token = np.where(real, place, 0)
        vector = token[:, None, :] * self.kv_heads + np.arange(self.kv_heads)[None, :, None]
        place = self.k_at + np.arange(vector.size).reshape(vector.shape)
        real = np.broadcast_to(real[:, None, :], vector.shape)
        original, copied = real & (column >= 0), real & (column < 0)
        self.k_inverse[vector[original]] = place[original]
        self.copies.append(place[copied])
        self.copied.append(vector[copied])
        self.k.append(vector.ravel())
        self.k_at += vector.size

    def plan(self, device: torch.device) -> AttentionPlan:
        """The finished plan, with indices into the network's own tensors."""
        heads, kv_heads = self.heads, self.kv_heads
        turned = heads + kv_heads

        def joined(parts: list[np.ndarray]) -> np.ndarray:
            return np.concatenate([*parts, np.zeros(0, np.int64)])

        def as_keys(index: np.ndarray) -> np.ndarray:
            return index // kv_heads * turned + heads + index % kv_heads

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(device)

        q, k, copied = joined(self.q), joined(self.k), joined(self.copied)
        both = [self.q_inverse.reshape(-1, heads), len(q) + self.k_inverse.reshape(-1, kv_heads)]
        return AttentionPlan(
            heads=heads,
            kv_heads=kv_heads,
            queries=tensor(q // heads * turned + q % heads),
            queries_in_heads=tensor(q),
            keys=tensor(as_keys(k)),
            values=tensor(k // kv_heads * (turned + kv_heads) + turned + k % kv_heads),
            padding=tensor(joined(self.padding)),
            outputs=tensor(self.q_inverse),
            own=tensor(self.k_inverse),
            both=tensor(np.concatenate(both, 1).ravel()),
            copies=tensor(joined(self.copies)),
            copied_keys=tensor(as_keys(copied)),
            copied_values=tensor(copied),
            pieces=tuple(replace(piece, mask=piece.mask.to(device)) for piece in self.pieces),
        )


def _mask(context: np.ndarray, left: int, query: np.ndarray, column: np.ndarray) -> Tensor:
    """The mask: 0 where a query may look, -inf elsewhere. Rows whose contexts are equally long share one mask."""
    visible = column[None, :] <= query[:, None]
    if (context == left).all():
        visible = visible[None]
    else:
        visible = visible[None] & (column[None, None, :] >= -context[:, None, None])
    mask = np.where(visible, np.float32(0), np.float32(-np.inf))
    return torch.from_numpy(mask[:, None])
