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
    """The parameters and their gradients as views of two flat vectors, matrices first, and AdamW on these.

    A parameter stays an ordinary one to everybody else. Moments are saved by parameter name, so that a checkpoint does
    not depend on an order.
    """

    def __init__(self, model: nn.Module, values: AdamW) -> None:
        self.named = dict(model.named_parameters())
        order = sorted(self.named, key=lambda name: self.named[name].ndim < 2)
        self.places: dict[str, slice] = {}
        end = 0
        for name in order:
            self.places[name] = slice(end, end + self.named[name].numel())
            end = _rounded_up(self.places[name].stop)
        matrices = max((_rounded_up(self.places[n].stop) for n in order if self.named[n].ndim >= 2), default=0)
        first = next(iter(self.named.values()))
        self.weights = torch.zeros(end, dtype=first.dtype, device=first.device)
        self.gradient = torch.zeros_like(self.weights)
        self.grads = {name: self._view(self.gradient, name) for name in self.named}
        for name, parameter in self.named.items():
            view = self._view(self.weights, name)
            parameter.data = view.copy_(parameter.data)
            parameter.grad = self.grads[name]
        parts = [(slice(0, matrices), values.weight_decay), (slice(matrices, end), 0.0)]
        self.flat = [(part, nn.Parameter(self.weights[part]), decay) for part, decay in parts if part.start < part.stop]
        for part, vector, _ in self.flat:
            vector.grad = self.gradient[part]
        groups = [{"params": [vector], "weight_decay": decay} for _, vector, decay in self.flat]
        self.adamw = torch.optim.AdamW(groups, lr=0.0, betas=values.betas, eps=values.eps, fused=True)

    def _view(self, vector: Tensor, name: str) -> Tensor:
        return vector[self.places[name]].view(self.named[name].shape)

    def step(self, *, lr: float, clip: float | None) -> dict[str, float]:
        """One step on the gradients gathered so far, which are then cleared. Nothing moves if they are not finite."""
        self._take_back()
        norm = float(torch.nn.utils.get_total_norm(self.grads.values()))
        finite = norm < float("inf")
        if finite:
            if clip is not None and norm > clip:
                self.gradient.mul_(clip / norm)
            for group in self.adamw.param_groups:
                group["lr"] = lr
            self.adamw.step()
        self.clear()
        return {"grad_norm": norm, "skipped": 0.0 if finite else 1.0}

    def _take_back(self) -> None:
        """A gradient that somebody replaced goes where it belongs."""
        for name, parameter in self.named.items():
            view = self.grads[name]
            if parameter.grad is None:
                view.zero_()
            elif parameter.grad.data_ptr() != view.data_ptr():
                view.copy_(parameter.grad)
            parameter.grad = view

    def clear(self) -> None:
        self._take_back()
        self.gradient.zero_()

    def state(self) -> dict[str, Tensor]:
        """`exp_avg/NAME`, `exp_avg_sq/NAME`, `step/NAME`; empty before the first step."""
        result: dict[str, Tensor] = {}
        for name in self.named:
            part, vector = self._home(name)
            for kind, value in self.adamw.state.get(vector, {}).items():
                own = value if kind == "step" else self._within(value, part, name)
                result[f"{kind}/{name}"] = own.detach().clone()
        return result

    def load(self, state: Mapping[str, Any]) -> None:
        self.adamw.state.clear()
        if not state:
            return
        for part, vector, _ in self.flat:
            moments = {kind: torch.zeros_like(vector) for kind in ("exp_avg", "exp_avg_sq")}
            steps = set()
            for name, parameter in self.named.items():
                if self._home(name)[1] is not vector:
                    continue
                for kind in ("step", "exp_avg", "exp_avg_sq"):
                    value = state.get(f"{kind}/{name}")
                    if value is None or (kind != "step" and value.shape != parameter.shape):
                        raise StorageError(f"the optimiser state has no fitting '{kind}/{name}'; another model's?")
                    if kind == "step":
                        steps.add(float(value))
                    else:
                        self._within(moments[kind], part, name).copy_(value)
            if len(steps) != 1:
                raise StorageError(f"the optimiser state counts different steps: {sorted(steps)}; all take every step.")
            step = torch.tensor(steps.pop(), dtype=torch.float32, device=vector.device)
            self.adamw.state[vector] = {"step": step, **moments}

    def _home(self, name: str) -> tuple[slice, nn.Parameter]:
        return next((part, vector) for part, vector, _ in self.flat if self.places[name].start < part.stop)

    def _within(self, vector: Tensor, part: slice, name: str) -> Tensor:
        """The place of a parameter in a vector that begins where `part` does."""
        place = self.places[name]
        return vector[place.start - part.start : place.stop - part.start].view(self.named[name].shape)


def _rounded_up(count: int) -> int:
    """To a cache line of fp32 numbers, where every parameter begins."""
    return -(-count // 16) * 16
