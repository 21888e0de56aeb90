"""The low-rank term that an adapter adds to a linear layer, and its gradients.
No matrix of the full weight's size is made.

y += s B (A x),   dB += s dy' (A x),   dA += s (dy B)' x,   dx += s (dy B) A
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from assay.engine.head import add_product
from assay.policy.adapted import Adapted


def gradient_of(parameter: Tensor) -> Tensor:
    """The gradient of a parameter; if it has none yet, it gets one of zeros."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


@dataclass(frozen=True, eq=False)
class _Part:
    """One adapted layer of a stack of layers: its columns in the stacked output, and its rows in the stacked A."""

    module: Adapted
    rows: slice
    inner: slice
    up: Tensor  # s B [out, rank]


@dataclass(frozen=True, eq=False)
class LowRank:
    """The adapters of linear layers that read the same input, in the compute format."""

    down: Tensor  # [sum of ranks, in]
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, layers: Sequence[Any], dtype: torch.dtype) -> LowRank | None:
        """The adapters of these layers; None if no layer has one."""
        parts: list[_Part] = []
        row = inner = 0
        for layer in layers:
            rows = slice(row, row + len(layer.weight))
            row = rows.stop
            if isinstance(layer, Adapted):
                rank = len(layer.lora_A.weight)
                up = (layer.lora_B.weight.detach() * layer.scale).to(dtype)
                parts.append(_Part(layer, rows, slice(inner, inner + rank), up))
                inner += rank
        if not parts:
            return None
        return cls(torch.cat([part.module.lora_A.weight.detach() for part in parts]).to(dtype), tuple(parts))

    def onto(self, before: LowRank | None) -> LowRank:
        """These adapters, in the memory that they had before."""
        if before is None or [part.up.shape for part in before.parts] != [part.up.shape for part in self.parts]:
            return self
        parts = [replace(new, up=old.up.copy_(new.up)) for new, old in zip(self.parts, before.parts)]
        return LowRank(before.down.copy_(self.down), tuple(parts))

    def add(self, y: Tensor, x: Tensor) -> Tensor:
        """y + s B A x, in place."""
        z = x @ self.down.t()
        for part in self.parts:
            y[:, part.rows].addmm_(z[:, part.inner], part.up.t())
        return y

    def backward(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient by x. The gradients of A and B are added to their parameters."""
        z = x @ self.down.t()
        dz = torch.empty_like(z)
        for part in self.parts:
            dy = grad[:, part.rows]
            torch.mm(dy, part.up, out=dz[:, part.inner])
            if part.module.lora_B.weight.requires_grad:
                add_product(gradient_of(part.module.lora_B.weight), dy * part.module.scale, z[:, part.inner])
                add_product(gradient_of(part.module.lora_A.weight), dz[:, part.inner], x)
        return dz @ self.down
