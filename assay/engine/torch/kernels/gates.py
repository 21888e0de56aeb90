"""The gated unit, one pass over memory forward and one backward. Nothing is kept beside its input.

act = silu(g) u,  dg = dact u s (1 + g (1 - s)),  du = dact silu(g)  with s = sigmoid(g)
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from assay.engine.torch.kernels.interface import Gated
from assay.engine.torch.kernels.launching import cdiv, launch, rows_of

BLOCK = 1024


@triton.jit
def gate_kernel(both, act, width, both_row, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    gate = tl.load(both + row * both_row + column, mask=inside, other=0.0)
    up = tl.load(both + row * both_row + width + column, mask=inside, other=0.0).to(tl.float32)
    wide = gate.to(tl.float32)
    gated = (wide * tl.sigmoid(wide)).to(gate.dtype).to(tl.float32)
    tl.store(act + row * width + column, (gated * up).to(act.dtype.element_ty), mask=inside)


@triton.jit
def gate_backward_kernel(grad, both, out, width, grad_row, both_row, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    gate = tl.load(both + row * both_row + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(both + row * both_row + width + column, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(grad + row * grad_row + column, mask=inside, other=0.0).to(tl.float32)
    share = tl.sigmoid(gate)
    by_gate = g * up * share * (1.0 + gate * (1.0 - share))
    kind = out.dtype.element_ty
    tl.store(out + row * 2 * width + column, by_gate.to(kind), mask=inside)
    tl.store(out + row * 2 * width + width + column, (g * gate * share).to(kind), mask=inside)


def gate(both: Tensor) -> tuple[Tensor, Gated]:
    return gate_again(both, None), None


def gate_again(both: Tensor, gated: Gated) -> Tensor:
    count, _, row, _ = rows_of(both)
    width = both.shape[-1] // 2
    act = torch.empty(count, width, dtype=both.dtype, device=both.device)
    launch(gate_kernel, (count, cdiv(width, BLOCK)), both, act, width, row, BLOCK=BLOCK, warps=4)
    return act


def gate_backward(grad: Tensor, both: Tensor, gated: Gated) -> Tensor:
    count, _, row, _ = rows_of(both)
    _, _, grad_row, _ = rows_of(grad)
    width = both.shape[-1] // 2
    out = torch.empty(both.shape, dtype=both.dtype, device=both.device)
    grid = (count, cdiv(width, BLOCK))
    launch(gate_backward_kernel, grid, grad, both, out, width, grad_row, row, BLOCK=BLOCK, warps=4)
    return out
