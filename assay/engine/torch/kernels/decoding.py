"""Attention of one query for each row over the keys and values that the row has written so far.

A step of decoding has one query for each row and head, and reads all keys of the row. Reading takes the time. So the
heads that share a kv head are worked on by one program, which reads their keys once. The columns of a row are cut into
parts that different programs read at the same time, and a second kernel joins what they leave. A part that begins
behind the end of its row reads nothing, writes nothing and is not joined.

Rows of a group share a prompt. `attend_shared` takes the keys of each prompt from a store in which they lie once, and
reads them once for a tile of rows: the queries of these rows and of all heads of a kv head form one matrix.

The number of parts depends on the number of rows, of kv heads and of columns alone. So a CUDA graph can record a call,
and equal calls give equal bits. Nothing here waits for the device.
"""

# Triton types what a kernel sees, not what a launch takes.
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math

import torch
import triton
from torch import Tensor

from assay.engine.footprint import PROGRAMS
from assay.engine.torch.kernels.decoding_parts import join_parts, own_parts, prompt_parts
from assay.engine.torch.kernels.prompt_tiles import TILE_QUERIES

MOST_PARTS = 64
LEAST_COLUMNS = 128  # of a part
DOT_ROWS = 16  # the fewest rows that a matrix product of Triton takes
FEW = 2  # heads of a kv head for which a matrix product, padded to `DOT_ROWS`, does not pay
SUM_BLOCK = 32  # the columns that a program of so few heads reads at once
FUSED = True  # products and sums are fused, whichever way a version of Triton has as its own

Cut = tuple[int, int]
"""(parts, columns of a part)."""


def block_columns(dtype: torch.dtype) -> int:
    """The columns that a program reads at once."""
    return 32 if dtype == torch.float32 else 64


def stages(dtype: torch.dtype) -> int:
    """How many blocks of keys and values are on their way at once: what fits the shared memory of any GPU."""
    return 2 if dtype == torch.float32 else 3


def cut_of(columns: int, programs: int, block: int) -> Cut:
    """How the columns are cut for each of so many programs. The columns of a part are a multiple of `block`."""
    parts = max(1, min(-(-PROGRAMS // programs), -(-columns // LEAST_COLUMNS), MOST_PARTS))
    size = max(1, -(-columns // (parts * block))) * block
    return max(1, -(-columns // size)), size


class Parts:
    """Room for the parts of all rows and heads, and the launches of the kernels that write and join them."""

    def __init__(self, q: Tensor, kv_heads: int, parts: int) -> None:
        rows, heads, head_dim = q.shape
        assert heads % kv_heads == 0 and q.stride(2) == 1
        self.q, self.rows, self.group = q, rows, heads // kv_heads
        stats = torch.empty(2, rows * heads * parts, dtype=torch.float32, device=q.device)
        mixed = torch.empty(rows * heads * parts * head_dim, dtype=torch.float32, device=q.device)
        self.room = (stats[0], stats[1], mixed)
        padded = max(DOT_ROWS, triton.next_power_of_2(head_dim))
        self.parts, self.sizes = parts, {"HEADS": heads, "HEAD_DIM": head_dim, "D": padded}
        self.kv_heads, self.scale = kv_heads, head_dim**-0.5 * math.log2(math.e)

    def own(self, keys: Tensor, values: Tensor, positions: Tensor, columns: int, cut: Cut) -> None:
        """Write the parts of each row's own cache."""
        assert keys.stride() == values.stride() and keys.stride(2) == 1 and columns <= keys.shape[1]
        by_dot = self.group > FEW
        members = max(DOT_ROWS, self.group) if by_dot else self.group
        own_parts[self.rows * self.kv_heads, cut[0]](
            self.q,
            keys,
            values,
            positions,
            *self.room,
            columns,
            cut[1],
            *keys.stride()[:2],
            *self.q.stride()[:2],
            self.scale,
            self.parts,
            self.kv_heads,
            **self.sizes,
            M=triton.next_power_of_2(members),
            BLOCK=block_columns(self.q.dtype) if by_dot else SUM_BLOCK,
            BY_DOT=by_dot,
            num_stages=stages(self.q.dtype),
            enable_fp_fusion=FUSED,
        )

    def prompts(self, keys: Tensor, values: Tensor, order: Tensor, tiles: Tensor, own: int, cut: Cut) -> None:
        """Write the parts of the prompts, behind the `own` parts of each row."""
        assert keys.stride() == values.stride() and keys.stride(2) == 1
        prompt_parts[len(tiles), self.kv_heads, cut[0]](
            self.q,
            keys,
            values,
            order,
            tiles,
            *self.room,
            own,
            cut[1],
            keys.stride(1),
            keys.stride(0),
            *self.q.stride()[:2],
            self.scale,
            self.parts,
            self.kv_heads,
            **self.sizes,
            M=triton.next_power_of_2(max(TILE_QUERIES, self.group)),
            BLOCK=block_columns(self.q.dtype),
            num_stages=stages(self.q.dtype),
            enable_fp_fusion=FUSED,
        )

    def join(
        self, out: Tensor | None, positions: Tensor, columns: int, own: Cut, lengths: Tensor | None, prompt: Cut
    ) -> Tensor:
        """The output of each row, from the parts that were written for it."""
        heads = self.sizes["HEADS"]
        if out is None:
            out = self.q.new_empty(self.rows, heads * self.sizes["HEAD_DIM"])
        assert out.is_contiguous()
        join_parts[(self.rows * heads,)](
            out,
            positions,
            lengths,
            *self.room,
            columns,
            own[1],
            own[0],
            prompt[1],
            self.parts,
            **self.sizes,
            MOST=triton.next_power_of_2(self.parts),
            enable_fp_fusion=FUSED,
        )
        return out


def attend_rows(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    columns: int,
    *,
    kv_heads: int,
    out: Tensor | None = None,
) -> Tensor:
    """Softmax attention [n, heads * d] of one query for each of n > 0 rows, over columns 0 .. positions[i] of slot i.

    `q` is [n, heads, d], and head h has the kv head h // (heads / kv_heads). `keys` and `values` are [slots * kv_heads,
    length, d]. `positions` is int64[n], each below `columns`; no column from there on is read. All sums are in fp32. If
    more than two heads share a kv head, the weights of bf16 and fp16 values are rounded to that format, as every matrix
    product of these formats asks.
    """
    cut = cut_of(columns, len(q) * kv_heads, block_columns(q.dtype))
    parts = Parts(q, kv_heads, cut[0])
    parts.own(keys, values, positions, columns, cut)
    return parts.join(out, positions, columns, cut, None, (0, 1))


def attend_shared(
    q: Tensor,
    store: tuple[Tensor, Tensor],
    prompt_length: Tensor,
    order: Tensor,
    tiles: Tensor,
    prompt_columns: int,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    columns: int,
    *,
    kv_heads: int,
    out: Tensor | None = None,
) -> Tensor:
    """As `attend_rows` for rows that continue prompts: each also sees all of its prompt, which lies once in a store.

    `store` has the keys and values [tokens, kv_heads, d] of all prompts, one after another. `order` and `tiles` are
    what `tiles_of` makes for at most `rows_of_tile` rows a tile. `prompt_length` int64[n] is the length of each row's
    prompt, 0 for a row that stands in no tile. No prompt is longer than `prompt_columns`. `keys`, `values`, `positions`
    and `columns` are those of what the rows wrote behind their prompts: the token behind the prompt has position 0.
    """
    block = block_columns(q.dtype)
    cut = cut_of(columns, len(q) * kv_heads, block)
    prompt = cut_of(prompt_columns, len(tiles) * kv_heads, block)
    parts = Parts(q, kv_heads, cut[0] + prompt[0])
    parts.own(keys, values, positions, columns, cut)
    parts.prompts(*store, order, tiles, cut[0], prompt)
    return parts.join(out, positions, columns, cut, prompt_length, prompt)
