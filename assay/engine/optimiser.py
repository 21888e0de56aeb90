"""AdamW on fp32 (or fp64) parameters: global norm clip, and no step at all on a gradient that is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from assay.errors import StorageError

MOMENTS = ("exp_avg", "exp_avg_sq")


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

    def __init__(self, named: Mapping[str, nn.Parameter], values: AdamW) -> None:
        self.named = dict(named)
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
        self.values = values
        self.decays = [(slice(0, matrices), values.weight_decay), (slice(matrices, end), 0.0)]
        self.moments = {kind: torch.zeros_like(self.weights) for kind in MOMENTS}
        self.steps = torch.zeros((), dtype=torch.float32, device=first.device)

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
            self._move(lr)
        self.clear()
        return {"grad_norm": norm, "skipped": 0.0 if finite else 1.0}

    @torch.no_grad()
    def _move(self, lr: float) -> None:
        """Torch's fused kernel itself: the optimiser around it would import torch's compiler, seconds of every run."""
        self.steps += 1
        vectors = (self.weights, self.gradient, *self.moments.values())
        for part, decay in self.decays:
            weight, grad, mean, square = ([vector[part]] for vector in vectors)
            torch.ops.aten._fused_adamw_(
                weight,
                grad,
                mean,
                square,
                [],
                [self.steps],
                lr=lr,
                beta1=self.values.betas[0],
                beta2=self.values.betas[1],
                weight_decay=decay,
                eps=self.values.eps,
                amsgrad=False,
                maximize=False,
            )

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

    def view(self) -> dict[str, Tensor]:
        """`exp_avg/NAME`, `exp_avg_sq/NAME`, `step/NAME`, not copied; empty before the first step."""
        if not self.steps:
            return {}
        result = {f"step/{name}": self.steps for name in self.named}
        for kind, vector in self.moments.items():
            result |= {f"{kind}/{name}": self._view(vector, name) for name in self.named}
        return result

    def load(self, state: Mapping[str, Any]) -> None:
        for vector in (self.steps, *self.moments.values()):
            vector.zero_()
        if not state:
            return
        steps = set()
        for name, parameter in self.named.items():
            for kind in ("step", *MOMENTS):
                value = state.get(f"{kind}/{name}")
                if value is None or (kind != "step" and value.shape != parameter.shape):
                    raise StorageError(f"the optimiser state has no fitting '{kind}/{name}'; is it of another model?")
                if kind == "step":
                    steps.add(float(value))
                else:
                    self._view(self.moments[kind], name).copy_(value)
        if len(steps) != 1:
            raise StorageError(
                f"the optimiser state counts different steps, {sorted(steps)}; all parameters take each."
            )
        self.steps.fill_(steps.pop())


def _rounded_up(count: int) -> int:
    """To a cache line of fp32 numbers, where every parameter begins."""
    return -(-count // 16) * 16
