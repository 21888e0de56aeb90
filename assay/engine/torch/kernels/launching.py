"""How a Triton kernel is started: on the device of its tensors, with choices that never depend on a measured time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

ELEMENTS = 2048  # numbers of a program that goes over short rows
WIDEST = 1 << 16  # numbers of a row that one program holds


def launch(kernel: Any, grid: Sequence[int], *arguments: Any, warps: int, stages: int = 2, **constants: Any) -> None:
    """Starts a kernel. The first argument is a tensor, and says on which device; an empty grid is nothing to do."""
    if 0 in grid:
        return
    with torch.cuda.device_of(arguments[0]):
        kernel[tuple(grid)](*arguments, **constants, num_warps=warps, num_stages=stages, enable_fp_fusion=True)


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below this."""
    return 1 << max(0, count - 1).bit_length()


def rows_of(x: Tensor) -> tuple[int, int, int, int]:
    """(rows, heads, numbers between tokens, numbers between heads) of [N, D] or of [N, heads, d], which may be a view
    of something wider. The numbers of a row lie side by side.
    """
    if x.stride(-1) != 1 and x.shape[-1] > 1:
        raise ValueError(f"the last dimension has stride {x.stride(-1)}, and kernels read rows whose numbers adjoin")
    if x.dim() == 2:
        return x.shape[0], 1, x.stride(0), 0
    return x.shape[0] * x.shape[1], x.shape[1], x.stride(0), x.stride(1)


def tile(width: int) -> tuple[int, dict[str, int], int]:
    """(rows of a program, its constants, its warps) for rows of so many numbers."""
    whole = power_of_two(width)
    if whole > WIDEST:
        raise ValueError(f"a row has {width} numbers, and kernels hold rows of {WIDEST} at most")
    rows = max(1, ELEMENTS // whole)
    warps = min(32, max(4, rows * whole // 512))
    return rows, {"D": width, "ROWS": rows, "WIDTH": whole}, warps
