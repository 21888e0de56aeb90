"""Compiling Triton kernels for GPUs that are not there: the calls of a function on tensors without memory, each made
into code for a target.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGETS = (80, 90, 100)  # compute capability: A100, H100, B200
SHARED = 99 << 10  # bytes of shared memory that a program may have on every card from 8.0 on
THREADS = 32  # of a warp
KINDS = {
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "i1",
    torch.float64: "fp64",
}


@dataclass(frozen=True)
class Call:
    """One start of a kernel, as `launch` was asked for it."""

    kernel: Any
    grid: Sequence[int]
    arguments: Sequence[Any]
    warps: int
    stages: int
    constants: dict[str, Any]

    def compiled(self, target: int) -> Any:
        """The kernel for a GPU of this capability, with what the arguments of this call allow to assume."""
        names = self.kernel.arg_names
        signature, constants, assumed = {}, dict(self.constants), {}
        for at, (name, value) in enumerate(zip(names, self.arguments)):
            if isinstance(value, Tensor):
                signature[name] = f"*{KINDS[value.dtype]}"
                assumed[(at,)] = [["tt.divisibility", 16]]
            elif isinstance(value, float):
                signature[name] = "fp32"
            elif value == 1:
                signature[name], constants[name] = "constexpr", 1
            else:
                signature[name] = "i32" if -(2**31) <= value < 2**31 else "i64"
                if value % 16 == 0:
                    assumed[(at,)] = [["tt.divisibility", 16]]
        signature |= dict.fromkeys(self.constants, "constexpr")
        source = ASTSource(self.kernel, signature, constexprs=constants, attrs=assumed)
        how = {"num_warps": self.warps, "num_stages": self.stages, "enable_fp_fusion": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Triton's own frontend
            return triton.compile(source, target=GPUTarget("cuda", target, THREADS), options=how)


def calls_of(patch: pytest.MonkeyPatch, module: ModuleType, run: Callable[[], Any]) -> list[Call]:
    """The kernels that `run` starts through the `launch` of a module, none of which is run."""
    calls: list[Call] = []

    def record(kernel: Any, grid: Any, *arguments: Any, warps: int, stages: int = 2, **constants: Any) -> None:
        calls.append(Call(kernel, grid, arguments, warps, stages, constants))

    with patch.context() as own:
        own.setattr(module, "launch", record)
        run()
    return calls


def require_compiles(calls: Sequence[Call], targets: Sequence[int] = TARGETS) -> None:
    """That each kernel compiles for each target, has a grid that a GPU takes, and fits into a program's memory."""
    assert calls
    for call in calls:
        width, height, depth = (*call.grid, 1, 1)[:3]
        assert 0 < width < 2**31 and 0 < height < 2**16 and 0 < depth < 2**16, call.grid
        for target in targets:
            made = call.compiled(target)
            where = f"{call.kernel.__name__} for sm_{target}"
            assert "cubin" in made.asm, where
            assert made.metadata.shared <= SHARED, f"{where} takes {made.metadata.shared} bytes of shared memory"
