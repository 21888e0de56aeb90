"""How the tokens of a layout see each other, for batched products.

Attention works on *blocks*: rows of similar length whose keys are padded to one rectangle, the context flush right
against the row. Long rows are cut into *pieces* of queries, which see keys only up to their own end.
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
    """Where the vectors of the pieces lie.

    The network has queries and keys as rows of [N, heads + kv_heads, d] and values as the last of
    [N, heads + 2 kv_heads, d]; the pieces have *flat* buffers of queries, and of keys and values, in their own order.
    """

    heads: int
    kv_heads: int
    queries: Tensor  # rows that make the flat queries
    queries_in_heads: Tensor  # the same as rows of [N, heads, d]
    keys: Tensor  # rows that make the flat keys
    values: Tensor  # rows that make the flat values
    padding: Tensor  # flat queries that no token asks
    outputs: Tensor  # the flat query of each (token, head)
    own: Tensor  # the flat key of each (token, kv head), among copies the one in its own row
    both: Tensor  # of each row of queries and keys its place in the flat queries followed by the flat keys
    copies: Tensor  # flat keys that repeat a context token for a row that shares it
    copied_keys: Tensor  # the rows of queries and keys they repeat
    copied_values: Tensor  # the (token, kv head) they repeat
    pieces: tuple[Piece, ...]

    @property
    def scores(self) -> int:
        return sum(p.rows * self.heads * p.queries * p.keys for p in self.pieces)


@dataclass(frozen=True, eq=False)
class Packed:
    """A layout on the device, with how its tokens see each other."""

    ids: Tensor  # int64[N]
    positions: Tensor  # int64[N]
    predict: Tensor  # int64[M]
    longest: int  # positions in use
    plan: AttentionPlan | Sequences
    blend_ids: Tensor | None = None  # int64[N]
    blend_share: Tensor | None = None  # [N]


@dataclass(frozen=True, eq=False)
class Onward:
    """Rows that are run behind tokens whose keys and values are known: these are numbered after all that is run."""

    ids: np.ndarray  # int64[N]
    length: np.ndarray  # int64[rows] of their own tokens
    known_at: np.ndarray  # int64[rows] the first of the known tokens before a row
    known: np.ndarray  # int64[rows] and how many they are
    total: int  # known tokens of all rows


@dataclass(frozen=True)
class _Rows:
    """Rows on their way to blocks: where their own tokens start, how many, and their shared context."""

    start: np.ndarray
    length: np.ndarray
    context_start: np.ndarray
    context_length: np.ndarray


def pack(layout: Layout, *, heads: int, kv_heads: int, device: torch.device, flash: bool = False) -> Packed:
    """The tensors of a layout for heads of this number. Its rows may be none: the contexts are rows of their own.

    With `flash` attention is planned for the kernel that takes sequences, without for products in blocks.
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
    at, which = layout.context_at, layout.context_of
    size = np.diff(at)
    nothing = np.zeros(len(size), np.int64)
    sets = [_Rows(at[:-1], size, nothing, nothing)]
    if len(layout.start):
        sets.append(_Rows(layout.start, layout.length, at[:-1][which], size[which]))
    return _plan(sets, len(layout.ids), heads, kv_heads, device)


def pack_onward(onward: Onward, *, heads: int, kv_heads: int, device: torch.device) -> Packed:
    """The tensors of such rows; nothing is predicted."""
    count, start = len(onward.ids), offsets(onward.length)[:-1]
    rows = _Rows(start, onward.length, count + onward.known_at, onward.known)
    positions = ranges(onward.known, onward.length)
    return Packed(
        ids=torch.from_numpy(onward.ids).to(device),
        positions=torch.from_numpy(positions).to(device),
        predict=torch.zeros(0, dtype=torch.int64, device=device),
        longest=int(positions.max()) + 1,
        plan=_plan([rows], count + onward.total, heads, kv_heads, device),
    )


def _blocks(rows: _Rows, heads: int) -> list[np.ndarray]:
    """Rows of similar length together, longest first, no block with more than `BLOCK_SCORES` scores."""
    order = np.lexsort((-rows.context_length, -rows.length))
    order = order[rows.length[order] > 0]
    blocks: list[np.ndarray] = []
    begin = 0
    while begin < len(order):
        longest = int(rows.length[order[begin]])
        end, context = begin, 0
        while end < len(order) and longest - rows.length[order[end]] <= max(4, longest // 8):
            context = max(context, int(rows.context_length[order[end]]))
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
    """Indices in [N, heads] for queries and in [N, kv_heads] for keys, a block at a time."""

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
        own, context = rows.length[block], rows.context_length[block]
        start, end = rows.start[block][:, None], (rows.context_start[block] + context)[:, None]
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
        self._add_keys(start, end, column, own, context)

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

    def _add_keys(
        self, start: np.ndarray, end: np.ndarray, column: np.ndarray, own: np.ndarray, context: np.ndarray
    ) -> None:
        real = (column >= -context[:, None]) & (column < own[:, None])
        token = np.where(real, np.where(column < 0, end, start) + column, 0)
        vector = token[:, None, :] * self.kv_heads + np.arange(self.kv_heads)[None, :, None]
        place = self.k_at + np.arange(vector.size).reshape(vector.shape)
        real = np.broadcast_to(real[:, None, :], vector.shape)
        mine, copied = real & (column >= 0), real & (column < 0)
        self.k_inverse[vector[mine]] = place[mine]
        self.copies.append(place[copied])
        self.copied.append(vector[copied])
        self.k.append(vector.ravel())
        self.k_at += vector.size

    def plan(self, device: torch.device) -> AttentionPlan:
        """The plan: the same indices as rows of what the network has."""
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
    """0 where a query may look, -inf elsewhere. One mask serves all rows whose contexts are equally long."""
    visible = column[None, :] <= query[:, None]
    if (context == left).all():
        visible = visible[None]
    else:
        visible = visible[None] & (column[None, None, :] >= -context[:, None, None])
    mask = np.where(visible, np.float32(0), np.float32(-np.inf))
    return torch.from_numpy(mask[:, None])
