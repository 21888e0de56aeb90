"""The kernels of the output layer, which compute logits tile by tile (`assay.engine.torch.kernels.output`)."""

# pyright: reportOperatorIssue=false, reportCallIssue=false, reportArgumentType=false
# Triton types a reduction as a tensor or a pair of tensors, whatever is asked for.

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def logits(
    hidden,
    weight,
    local,
    columns,
    hidden_row,
    weight_row,
    D: tl.constexpr,
    BK: tl.constexpr,
    EVEN: tl.constexpr,
):
    """The logits of a tile, rounded to the format of the hidden states: `hidden` and `weight` point at its first row
    and column, and `local` and `columns` are the rows and columns from there.
    """
    inner = tl.arange(0, BK)
    a_at = hidden + local[:, None] * hidden_row + inner[None, :]
    b_at = weight + columns[None, :] * weight_row + inner[:, None]
    z = tl.zeros((local.shape[0], columns.shape[0]), dtype=tl.float32)
    for k in range(0, D, BK):
        if EVEN:
            a = tl.load(a_at)
            b = tl.load(b_at)
        else:
            a = tl.load(a_at, mask=(inner < D - k)[None, :], other=0.0)
            b = tl.load(b_at, mask=(inner < D - k)[:, None], other=0.0)
        z = tl.dot(a, b, z, input_precision="ieee")
        a_at += BK
        b_at += BK
    return z.to(hidden.dtype.element_ty).to(tl.float32)


@triton.jit
def read_kernel(
    hidden,
    weight,
    ids,
    tau,
    top_ids,
    largest,
    total,
    moment,
    logit,
    top_logit,
    count,
    vocab,
    hidden_row,
    weight_row,
    D: tl.constexpr,
    SPAN: tl.constexpr,
    BM: tl.constexpr,
    BV: tl.constexpr,
    BK: tl.constexpr,
    EVEN: tl.constexpr,
    ENTROPY: tl.constexpr,
    FURTHER: tl.constexpr,
):
    """One span of the vocabulary for BM rows: m, S and T of the span, and the logits of the tokens that lie in it."""
    first_row = tl.program_id(0) * BM
    split = tl.program_id(1)
    row = first_row + tl.arange(0, BM)
    live = row < count
    local = tl.minimum(tl.arange(0, BM), count - 1 - first_row)
    hidden += first_row.to(tl.int64) * hidden_row
    weight += (split * SPAN).to(tl.int64) * weight_row
    token = tl.load(ids + row, mask=live, other=-1)
    heat = tl.load(tau + row, mask=live, other=1.0)
    m = tl.full((BM,), -1e30, dtype=tl.float32)
    s = tl.zeros((BM,), dtype=tl.float32)
    t = tl.zeros((BM,), dtype=tl.float32)
    for tile in range(SPAN // BV):
        begin = split * SPAN + tile * BV
        if begin < vocab:  # the last span may end within it
            column = begin + tl.arange(0, BV)
            near = tl.minimum(tl.arange(0, BV), vocab - 1 - begin)
            z = logits(hidden, weight, local, near, hidden_row, weight_row, D, BK, EVEN) / heat[:, None]
            z = tl.where((column < vocab)[None, :], z, -1e30)
            highest = tl.maximum(m, tl.max(z, 1))
            lower = z - highest[:, None]
            share = tl.exp(lower)
            fade = tl.exp(m - highest)
            if ENTROPY:
                t = fade * (t + (m - highest) * s) + tl.sum(share * lower, 1)
            s = fade * s + tl.sum(share, 1)
            m = highest
            inside = (token >= begin) & (token < begin + BV) & (token < vocab)
            if tl.max(inside.to(tl.int32), 0) > 0:
                picked = tl.sum(tl.where(token[:, None] == column[None, :], z, 0.0), 1)
                tl.store(logit + row, picked, mask=inside)
            if FURTHER > 0:
                for k in range(FURTHER):
                    other = tl.load(top_ids + row.to(tl.int64) * FURTHER + k, mask=live, other=-1)
                    within = (other >= begin) & (other < begin + BV) & (other < vocab)
                    if tl.max(within.to(tl.int32), 0) > 0:
                        picked = tl.sum(tl.where(other[:, None] == column[None, :], z, 0.0), 1)
                        tl.store(top_logit + row.to(tl.int64) * FURTHER + k, picked, mask=within)
        weight += BV * weight_row
    spot = split.to(tl.int64) * count + row
    tl.store(largest + spot, m, mask=live)
    tl.store(total + spot, s, mask=live)
    if ENTROPY:
        tl.store(moment + spot, t, mask=live)


@triton.jit
def join_kernel(
    largest,
    total,
    moment,
    logit,
    lse,
    logp,
    entropy,
    count,
    splits,
    SPLITS: tl.constexpr,
    ROWS: tl.constexpr,
    ENTROPY: tl.constexpr,
):
    """The spans of each row joined: its log-sum-exp, the log-probability of its token, and its entropy."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    split = tl.arange(0, SPLITS)
    live = (split < splits)[:, None] & (row < count)[None, :]
    at = split.to(tl.int64)[:, None] * count + row
    m = tl.load(largest + at, mask=live, other=-1e30)
    highest = tl.max(m, 0)
    fade = tl.exp(m - highest[None, :])
    each = tl.load(total + at, mask=live, other=1.0)
    s = tl.sum(fade * each, 0)
    whole = highest + tl.log(s)
    tl.store(lse + row, whole, mask=row < count)
    tl.store(logp + row, tl.load(logit + row, mask=row < count, other=0.0) - whole, mask=row < count)
    if ENTROPY:
        t = tl.sum(fade * (tl.load(moment + at, mask=live, other=0.0) + (m - highest[None, :]) * each), 0)
        tl.store(entropy + row, tl.log(s) - t / s, mask=row < count)


@triton.jit
def grad_kernel(
    hidden,
    weight,
    ids,
    tau,
    lse,
    spread,
    by_logp,
    by_entropy,
    by_all,
    top_ids,
    by_top,
    out,
    count,
    vocab,
    hidden_row,
    weight_row,
    out_row,
    D: tl.constexpr,
    BM: tl.constexpr,
    BV: tl.constexpr,
    BK: tl.constexpr,
    EVEN: tl.constexpr,
    ENTROPY: tl.constexpr,
    FURTHER: tl.constexpr,
):
    """The gradient by one tile of the logits, which are computed again."""
    first_row = tl.program_id(0) * BM
    begin = tl.program_id(1) * BV
    row = first_row + tl.arange(0, BM)
    column = begin + tl.arange(0, BV)
    live = row < count
    local = tl.minimum(tl.arange(0, BM), count - 1 - first_row)
    near = tl.minimum(tl.arange(0, BV), vocab - 1 - begin)
    heat = tl.load(tau + row, mask=live, other=1.0)
    hidden += first_row.to(tl.int64) * hidden_row
    at = weight + begin.to(tl.int64) * weight_row
    z = logits(hidden, at, local, near, hidden_row, weight_row, D, BK, EVEN) / heat[:, None]
    lp = z - tl.load(lse + row, mask=live, other=0.0)[:, None]
    by_p = tl.load(by_all + row, mask=live, other=0.0)[:, None]
    if ENTROPY:
        e = tl.load(by_entropy + row, mask=live, other=0.0)[:, None]
        by_p += e * (lp + tl.load(spread + row, mask=live, other=0.0)[:, None])
    dz = -by_p * tl.exp(lp)
    token = tl.load(ids + row, mask=live, other=-1)
    c = tl.load(by_logp + row, mask=live, other=0.0)
    dz += tl.where(token[:, None] == column[None, :], c[:, None], 0.0)
    if FURTHER > 0:
        for k in range(FURTHER):
            at_k = row.to(tl.int64) * FURTHER + k
            other = tl.load(top_ids + at_k, mask=live, other=-1)
            within = (other >= begin) & (other < begin + BV)
            if tl.max(within.to(tl.int32), 0) > 0:
                c = tl.load(by_top + at_k, mask=live, other=0.0)
                dz += tl.where(other[:, None] == column[None, :], c[:, None], 0.0)
    spot = out + row.to(tl.int64)[:, None] * out_row + column[None, :]
    tl.store(spot, (dz / heat[:, None]).to(out.dtype.element_ty), mask=live[:, None] & (column < vocab)[None, :])
