"""The kernels of attention while decoding: `own_parts` and `prompt_parts` write parts, `join_parts` joins them.

A part of a query is what it sees in one run of columns: the largest score (in powers of two), the sum of the weights
2^(score - largest), and the values mixed by these weights, all in fp32. They are launched by `decoding`.
"""

# Triton's types of constants and quotients are not those that the kernels see.
# pyright: reportArgumentType=false, reportOperatorIssue=false

from __future__ import annotations

import triton
import triton.language as tl

VARYING = ("columns", "own", "parts")  # each bucket of rows and columns has its own: no reason to compile again


@triton.jit
def fold_block(q, key, value, seen, peak, total, mixed, scale, BY_DOT: tl.constexpr):
    """Take a block of keys and values [B, D] into the part (peak [M], total [M], mixed [M, D]) of M queries [M, D]."""
    if BY_DOT:
        scores = tl.dot(q, tl.trans(key), input_precision="ieee")
    else:
        scores = tl.sum(q.to(tl.float32)[:, None, :] * key.to(tl.float32)[None, :, :], 2)
    scores = tl.where(seen[None, :], scores * scale, float("-inf"))
    higher = tl.maximum(peak, tl.max(scores, 1))
    weight = tl.exp2(scores - higher[:, None])
    shrink = tl.exp2(peak - higher)
    total = total * shrink + tl.sum(weight, 1)
    mixed = mixed * shrink[:, None]
    if BY_DOT:
        mixed = tl.dot(weight.to(value.dtype), value, mixed, input_precision="ieee")
    else:
        mixed += tl.sum(weight[:, :, None] * value.to(tl.float32)[None, :, :], 1)
    return higher, total, mixed


@triton.jit
def write_part(
    q,
    keys,
    values,
    peaks,
    totals,
    mixed,
    row,
    head,
    live,
    low,
    high,
    number,
    column_step,
    q_row,
    q_head,
    scale,
    parts,
    HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    D: tl.constexpr,
    M: tl.constexpr,
    BLOCK: tl.constexpr,
    BY_DOT: tl.constexpr,
):
    """Write part `number` of the queries (row [M], head [M]) where `live`: columns `low` to `high` - 1.

    `keys` and `values` point to column 0 of the kv head, and `column_step` leads to the next column.
    """
    dims = tl.arange(0, D)
    inside = dims < HEAD_DIM
    taken = live[:, None] & inside[None, :]
    query = tl.load(q + row[:, None] * q_row + head[:, None] * q_head + dims[None, :], mask=taken, other=0.0)
    peak = tl.full([M], float("-inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    mix = tl.zeros([M, D], tl.float32)
    for at in range(low, high, BLOCK):
        column = at + tl.arange(0, BLOCK)
        seen = column < high
        where = column.to(tl.int64)[:, None] * column_step + dims[None, :]
        read = seen[:, None] & inside[None, :]
        key = tl.load(keys + where, mask=read, other=0.0)
        value = tl.load(values + where, mask=read, other=0.0)
        peak, total, mix = fold_block(query, key, value, seen, peak, total, mix, scale, BY_DOT)
    part = (row * HEADS + head) * parts + number
    tl.store(peaks + part, peak, mask=live)
    tl.store(totals + part, total, mask=live)
    tl.store(mixed + part[:, None] * HEAD_DIM + dims[None, :], mix, mask=taken)


@triton.jit(do_not_specialize=VARYING)
def own_parts(
    q,
    keys,
    values,
    positions,
    peaks,
    totals,
    mixed,
    columns,
    size,
    head_step,
    column_step,
    q_row,
    q_head,
    scale,
    parts,
    KV: tl.constexpr,
    HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    D: tl.constexpr,
    M: tl.constexpr,
    BLOCK: tl.constexpr,
    BY_DOT: tl.constexpr,
):
    """Program (row * KV + kv head, part): `size` columns of one row's own cache, for the heads of one kv head."""
    pair = tl.program_id(0).to(tl.int64)
    number = tl.program_id(1)
    row = pair // KV
    low = number * size
    end = tl.minimum(tl.load(positions + row) + 1, columns).to(tl.int32)
    if low >= end:
        return
    member = tl.arange(0, M)
    head = (pair % KV) * (HEADS // KV) + member
    write_part(
        q,
        keys + pair * head_step,
        values + pair * head_step,
        peaks,
        totals,
        mixed,
        row + tl.zeros([M], tl.int64),
        head,
        member < HEADS // KV,
        low,
        tl.minimum(low + size, end),
        number,
        column_step,
        q_row,
        q_head,
        scale,
        parts,
        HEADS,
        HEAD_DIM,
        D,
        M,
        BLOCK,
        BY_DOT,
    )


@triton.jit(do_not_specialize=VARYING)
def prompt_parts(
    q,
    keys,
    values,
    order,
    tiles,
    peaks,
    totals,
    mixed,
    own,
    size,
    head_step,
    column_step,
    q_row,
    q_head,
    scale,
    parts,
    KV: tl.constexpr,
    HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    D: tl.constexpr,
    M: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Program (tile, kv head, part): `size` columns of a prompt, for the heads of one kv head in all rows of the tile.

    The parts of the prompt stand behind the `own` parts of a row's own cache.
    """
    tile = tiles + tl.program_id(0).to(tl.int64) * 4
    kv = tl.program_id(1).to(tl.int64)
    number = tl.program_id(2)
    count = tl.load(tile + 1)
    length = tl.load(tile + 3).to(tl.int32)
    low = number * size
    if (count == 0) | (low >= length):
        return
    member = tl.arange(0, M)
    live = member // (HEADS // KV) < count
    row = tl.load(order + tl.load(tile) + member // (HEADS // KV), mask=live, other=0)
    base = tl.load(tile + 2) * column_step + kv * head_step
    write_part(
        q,
        keys + base,
        values + base,
        peaks,
        totals,
        mixed,
        row,
        kv * (HEADS // KV) + member % (HEADS // KV),
        live,
        low,
        tl.minimum(low + size, length),
        own + number,
        column_step,
        q_row,
        q_head,
        scale,
        parts,
        HEADS,
        HEAD_DIM,
        D,
        M,
        BLOCK,
        True,
    )


@triton.jit(do_not_specialize=VARYING)
def join_parts(
    out,
    positions,
    lengths,
    peaks,
    totals,
    mixed,
    columns,
    size,
    own,
    prompt_size,
    parts,
    MOST: tl.constexpr,
    HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    D: tl.constexpr,
):
    """Program row * HEADS + head: the output of a head, from the parts that were written for it."""
    query = tl.program_id(0).to(tl.int64)
    row = query // HEADS
    number = tl.arange(0, MOST)
    end = tl.minimum(tl.load(positions + row) + 1, columns)
    written = (number < own) & (number * size < end)
    if lengths is not None:
        behind = number - own
        written = written | ((behind >= 0) & (number < parts) & (behind * prompt_size < tl.load(lengths + row)))
    part = query * parts + number
    peak = tl.load(peaks + part, mask=written, other=float("-inf"))
    weight = tl.exp2(peak - tl.max(peak, 0))
    total = tl.sum(weight * tl.load(totals + part, mask=written, other=0.0), 0)
    dims = tl.arange(0, D)
    read = written[:, None] & (dims < HEAD_DIM)[None, :]
    mix = tl.load(mixed + part[:, None] * HEAD_DIM + dims[None, :], mask=read, other=0.0)
    value = tl.sum(weight[:, None] * mix, 0) / total
    tl.store(out + query * HEAD_DIM + dims, value.to(out.dtype.element_ty), mask=dims < HEAD_DIM)
