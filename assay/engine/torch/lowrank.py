"""What an adapter adds beside a product, and its gradients, which never pass through one of the whole weight's size.

y += s B (A x),   dB += s dy' (A x),   dA += s (dy B)' x,   dx += s (dy B) A
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from assay.policy.adapted import Adapted


def gradient_of(parameter: Tensor) -> Tensor:
    """Its gradient, made of zeros where there was none."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total += a' b, gathered in the format of the total."""
    if total.dtype == a.dtype:
        total.addmm_(a.t(), b)
    else:
        total.add_(a.t() @ b)


@dataclass(frozen=True, eq=False)
class _Part:
    """One adapted layer of a stack: its rows of the stacked output and its rows of the stacked A."""

    module: Adapted
    rows: slice
    inner: slice
    up: Tensor  # s B [out, rank]


@dataclass(frozen=True, eq=False)
class LowRank:
    """The adapters of linear layers that have one input, in the compute format."""

    down: Tensor  # [sum of ranks, in]
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, layers: Sequence[Any], dtype: torch.dtype) -> LowRank | None:
        """None where none of the layers is adapted."""
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

    def add(self, y: Tensor, x: Tensor) -> Tensor:
        """y + s B A x, in place."""
        z = x @ self.down.t()
        for part in self.parts:
            y[:, part.rows].addmm_(z[:, part.inner], part.up.t())
        return y

    def backward(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient by x; those of A and B are gathered in their parameters."""
        z = x @ self.down.t()
        dz = torch.empty_like(z)
        for part in self.parts:
            dy = grad[:, part.rows]
            torch.mm(dy, part.up, out=dz[:, part.inner])
            if part.module.lora_B.weight.requires_grad:
                add_product(gradient_of(part.module.lora_B.weight), dy * part.module.scale, z[:, part.inner])
                add_product(gradient_of(part.module.lora_A.weight), dz[:, part.inner], x)
        return dz @ self.down
