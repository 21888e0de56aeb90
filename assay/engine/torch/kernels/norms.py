"""RMS norms forward and backward, one pass over memory each. Sums are in fp32.

r = 1 / sqrt(mean(x^2) + eps),  h = r x,  dx = residual + r (g - h mean(g h)) with g = grad * gain
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from assay.engine.torch.kernels.launching import cdiv, launch, rows_of, tile


@triton.jit
def norm_kernel(
    x,
    gain,
    h,
    r,
    y,
    count,
    heads,
    x_token,
    x_head,
    gain_head,
    eps,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    GAIN: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    token, head, column = (row // heads).to(tl.int64), row % heads, tl.arange(0, WIDTH)
    inside = (row < count)[:, None] & (column < D)[None, :]
    v = tl.load(x + (token * x_token + head * x_head)[:, None] + column, mask=inside, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(v * v, 1) / D + eps)
    scaled = (v * inverse[:, None]).to(h.dtype.element_ty)
    at = row.to(tl.int64)[:, None] * D + column
    tl.store(h + at, scaled, mask=inside)
    tl.store(r + row, inverse, mask=row < count)
    if GAIN:
        weight = tl.load(gain + (head * gain_head)[:, None] + column, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + at, (scaled.to(tl.float32) * weight).to(y.dtype.element_ty), mask=inside)


@triton.jit
def norm_backward_kernel(
    grad,
    h,
    r,
    gain,
    residual,
    out,
    count,
    heads,
    grad_token,
    grad_head,
    h_token,
    h_head,
    residual_token,
    residual_head,
    gain_head,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    GAIN: tl.constexpr,
    RESIDUAL: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    token, head, column = (row // heads).to(tl.int64), row % heads, tl.arange(0, WIDTH)
    inside = (row < count)[:, None] & (column < D)[None, :]
    g_at = (token * grad_token + head * grad_head)[:, None] + column
    g = tl.load(grad + g_at, mask=inside, other=0.0).to(tl.float32)
    if GAIN:
        g *= tl.load(gain + (head * gain_head)[:, None] + column, mask=inside, other=0.0).to(tl.float32)
    h_at = (token * h_token + head * h_head)[:, None] + column
    v = tl.load(h + h_at, mask=inside, other=0.0).to(tl.float32)
    inverse = tl.load(r + row, mask=row < count, other=0.0).to(tl.float32)
    mean = tl.sum(g * v, 1) / D
    result = (g - v * mean[:, None]) * inverse[:, None]
    if RESIDUAL:
        residual_at = (token * residual_token + head * residual_head)[:, None] + column
        result += tl.load(residual + residual_at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row.to(tl.int64)[:, None] * D + column, result.to(out.dtype.element_ty), mask=inside)


def norm(x: Tensor, eps: float, gain: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    count, heads, token, head = rows_of(x)
    rows, constants, warps = tile(x.shape[-1])
    h = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    r = torch.empty((*x.shape[:-1], 1), dtype=torch.float32, device=x.device)
    y = h if gain is None else torch.empty_like(h)
    weight = h if gain is None else gain.contiguous()
    launch(
        norm_kernel,
        (cdiv(count, rows),),
        x,
        weight,
        h,
        r,
        y,
        count,
        heads,
        token,
        head,
        _head_stride(gain),
        eps,
        **constants,
        GAIN=gain is not None,
        warps=warps,
    )
    return h, r, y


def norm_backward(residual: Tensor | None, grad: Tensor, h: Tensor, r: Tensor, gain: Tensor | None = None) -> Tensor:
    count, heads, token, head = rows_of(grad)
    _, _, h_token, h_head = rows_of(h)
    other = grad if residual is None else residual
    _, _, other_token, other_head = rows_of(other)
    rows, constants, warps = tile(grad.shape[-1])
    out = other if other.is_contiguous() else torch.empty(grad.shape, dtype=grad.dtype, device=grad.device)
    launch(
        norm_backward_kernel,
        (cdiv(count, rows),),
        grad,
        h,
        r,
        grad if gain is None else gain.contiguous(),
        other,
        out,
        count,
        heads,
        token,
        head,
        h_token,
        h_head,
        other_token,
        other_head,
        _head_stride(gain),
        **constants,
        GAIN=gain is not None,
        RESIDUAL=residual is not None,
        warps=warps,
    )
    return out


def _head_stride(gain: Tensor | None) -> int:
    """Numbers between the gains of two heads: 0 where all heads have one gain."""
    return 0 if gain is None or gain.dim() == 1 else gain.shape[-1]
