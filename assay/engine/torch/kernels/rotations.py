"""Rotary positions for queries and keys, alone or with the norms before them, one pass over memory.

turned = y cos + swap(y) sin,  y = x, or (r x) weight with r = 1 / sqrt(mean(x^2) + eps)

The sine has the signs, so that the backward pass is the same with the sine negated.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from assay.engine.torch.kernels.launching import cdiv, launch, rows_of, tile


@triton.jit
def turn_kernel(
    x,
    cos,
    sin,
    out,
    count,
    heads,
    x_token,
    x_head,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    SIGN: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    token, head, column = (row // heads).to(tl.int64), row % heads, tl.arange(0, WIDTH)
    swapped = tl.where(column < D // 2, column + D // 2, column - D // 2)
    inside = (row < count)[:, None] & (column < D)[None, :]
    begin = (token * x_token + head * x_head)[:, None]
    v = tl.load(x + begin + column, mask=inside, other=0.0).to(tl.float32)
    other = tl.load(x + begin + swapped, mask=inside, other=0.0).to(tl.float32)
    angle = (token * D)[:, None] + column
    c = tl.load(cos + angle, mask=inside, other=0.0).to(tl.float32)
    s = tl.load(sin + angle, mask=inside, other=0.0).to(tl.float32) * SIGN
    at = row.to(tl.int64)[:, None] * D + column
    tl.store(out + at, (v * c + other * s).to(out.dtype.element_ty), mask=inside)


@triton.jit
def turn_normed_kernel(
    x,
    weight,
    cos,
    sin,
    out,
    h,
    r,
    count,
    heads,
    x_token,
    x_head,
    eps,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    token, head, column = (row // heads).to(tl.int64), row % heads, tl.arange(0, WIDTH)
    swapped = tl.where(column < D // 2, column + D // 2, column - D // 2)
    inside = (row < count)[:, None] & (column < D)[None, :]
    begin = (token * x_token + head * x_head)[:, None]
    v = tl.load(x + begin + column, mask=inside, other=0.0).to(tl.float32)
    other = tl.load(x + begin + swapped, mask=inside, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(v * v, 1) / D + eps)
    kind = h.dtype.element_ty  # normed heads are kept in it, so that both halves are rounded to it
    scaled = (v * inverse[:, None]).to(kind)
    other = (other * inverse[:, None]).to(kind).to(tl.float32)
    at = row.to(tl.int64)[:, None] * D + column
    tl.store(h + at, scaled, mask=inside)
    tl.store(r + row, inverse, mask=row < count)
    gain = (head * D)[:, None]
    v = scaled.to(tl.float32) * tl.load(weight + gain + column, mask=inside, other=0.0).to(tl.float32)
    other *= tl.load(weight + gain + swapped, mask=inside, other=0.0).to(tl.float32)
    angle = (token * D)[:, None] + column
    c = tl.load(cos + angle, mask=inside, other=0.0).to(tl.float32)
    s = tl.load(sin + angle, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, (v * c + other * s).to(out.dtype.element_ty), mask=inside)


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return _turned(x, cos, sin, 1.0)


def turn_backward(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return _turned(x, cos, sin, -1.0)


def _turned(x: Tensor, cos: Tensor, sin: Tensor, sign: float) -> Tensor:
    count, heads, token, head = rows_of(x)
    rows, constants, warps = tile(x.shape[-1])
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    angles = cos.contiguous(), sin.contiguous()
    grid = (cdiv(count, rows),)
    launch(turn_kernel, grid, x, *angles, out, count, heads, token, head, **constants, SIGN=sign, warps=warps)
    return out


def turn_normed(x: Tensor, eps: float, weight: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    count, heads, token, head = rows_of(x)
    rows, constants, warps = tile(x.shape[-1])
    out, h = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    r = torch.empty((*x.shape[:-1], 1), dtype=torch.float32, device=x.device)
    angles = cos.contiguous(), sin.contiguous()
    arguments = (x, weight.contiguous(), *angles, out, h, r, count, heads, token, head, eps)
    launch(turn_normed_kernel, (cdiv(count, rows),), *arguments, **constants, warps=warps)
    return out, h, r
