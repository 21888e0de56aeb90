"""AdamW on fp32 (or fp64) parameters: global norm clip, and no step at all on a gradient that is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from assay.errors import StorageError


@dataclass(frozen=True)
class AdamW:
    """Decoupled weight decay acts on matrices alone: not on norms and biases."""

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0


class Optimiser:
    """Moments are kept by parameter name, so that a checkpoint does not depend on an order."""

    def __init__(self, model: nn.Module, values: AdamW) -> None:
        self.named = dict(model.named_parameters())
        matrices = [p for p in self.named.values() if p.ndim >= 2]
        vectors = [p for p in self.named.values() if p.ndim < 2]
        groups = [{"params": matrices, "weight_decay": values.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        self.adamw = torch.optim.AdamW(
            [g for g in groups if g["params"]], lr=0.0, betas=values.betas, eps=values.eps, fused=True
        )

    def step(self, *, lr: float, clip: float | None) -> dict[str, float]:
        """One step on the gradients gathered so far, which are then cleared. Nothing moves if they are not finite."""
        grads: list[Tensor] = []
        for parameter in self.named.values():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            grads.append(parameter.grad)
        norm = float(torch.nn.utils.get_total_norm(grads))
        finite = norm < float("inf")
        if finite:
            if clip is not None and norm > clip:
                for grad in grads:
                    grad.mul_(clip / norm)
            for group in self.adamw.param_groups:
                group["lr"] = lr
            self.adamw.step()
        self.clear()
        return {"grad_norm": norm, "skipped": 0.0 if finite else 1.0}

    def clear(self) -> None:
        self.adamw.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        """`exp_avg/NAME`, `exp_avg_sq/NAME`, `step/NAME`; empty before the first step."""
        result: dict[str, Tensor] = {}
        for name, parameter in self.named.items():
            for kind, value in self.adamw.state.get(parameter, {}).items():
                result[f"{kind}/{name}"] = value.detach().clone()
        return result

    def load(self, state: Mapping[str, Any]) -> None:
        self.adamw.state.clear()
        if not state:
            return
        for name, parameter in self.named.items():
            moments = {}
            for kind in ("step", "exp_avg", "exp_avg_sq"):
                value = state.get(f"{kind}/{name}")
                if value is None or (kind != "step" and value.shape != parameter.shape):
                    raise StorageError(f"the optimiser state has no fitting '{kind}/{name}'; is it of another model?")
                device = parameter.device
                moments[kind] = value.detach().to(device=device, copy=True)
            self.adamw.state[parameter] = moments
