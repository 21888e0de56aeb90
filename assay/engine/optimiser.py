"""AdamW on fp32 (or fp64) parameters, with a clip of the global gradient norm. A gradient must be finite to count.

The moments have the parameters' number format; the moments of matrices may be stored in eight bits instead (`low_bit`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from assay.engine.footprint import CODED_BLOCK
from assay.engine.low_bit import Coded
from assay.errors import StorageError

MOMENTS = ("exp_avg", "exp_avg_sq")
LINE = 16  # fp32 numbers of a cache line


@dataclass(frozen=True)
class AdamW:
    """The constants of AdamW. Decoupled weight decay acts on matrices alone, not on the weights of norms and on biases.

    Example:
        AdamW(betas=(0.9, 0.95), weight_decay=0.01)
        AdamW(bits=8)  # a quarter of the memory for the moments of matrices
    """

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    bits: Literal[32, 8] = 32  # bits of the moments of matrices; 32: the number format of the parameters


@dataclass
class _Moments:
    """One set of moments, with the number of steps that went into it."""

    coded: Coded | None  # the moments of matrices in eight bits
    vectors: dict[str, Tensor]  # the other moments, by kind
    steps: Tensor


class Optimiser:
    """AdamW on two flat vectors, matrices first: parameters and their gradients are views of these vectors.

    To all other code a parameter is an ordinary torch parameter. A checkpoint stores moments by parameter name, so that
    it does not depend on the order in the vectors. An objective that would spoil another objective's moments names a
    set of moments of its own.
    """

    def __init__(self, named: Mapping[str, nn.Parameter], values: AdamW) -> None:
        self.named = dict(named)
        order = sorted(self.named, key=lambda name: self.named[name].ndim < 2)
        self.places: dict[str, slice] = {}
        end = matrices = 0
        whole = CODED_BLOCK if values.bits == 8 else LINE
        for name in order:
            self.places[name] = slice(end, end + self.named[name].numel())
            end = -(-self.places[name].stop // whole) * whole
            matrices = end if self.named[name].ndim >= 2 else matrices
        first = next(iter(self.named.values()))
        self.weights = torch.zeros(end, dtype=first.dtype, device=first.device)
        self.gradient = torch.zeros_like(self.weights)
        self.grads = {name: self._view(self.gradient, name) for name in self.named}
        for name, parameter in self.named.items():
            view = self._view(self.weights, name)
            parameter.data = view.copy_(parameter.data)
            parameter.grad = self.grads[name]
        self.values = values
        self.matrices = matrices
        self.wide = matrices if values.bits == 8 else 0  # where the moments begin that are not stored in eight bits
        self.decays = [(slice(0, matrices), values.weight_decay), (slice(matrices, end), 0.0)]
        self.own = self._fresh()
        self.others: dict[str, _Moments] = {}

    def _fresh(self) -> _Moments:
        device = self.weights.device
        coded = Coded(self.matrices, device) if self.values.bits == 8 else None
        vectors = {kind: torch.zeros_like(self.weights[self.wide :]) for kind in MOMENTS}
        return _Moments(coded, vectors, torch.zeros((), dtype=torch.float32, device=device))

    def _named(self, name: str) -> _Moments:
        """The set of moments of this name ("" is the main set), made with the first step that names it."""
        if name and name not in self.others:
            self.others[name] = self._fresh()
        return self._known(name)

    def _known(self, name: str) -> _Moments:
        return self.others[name] if name else self.own

    def _view(self, vector: Tensor, name: str) -> Tensor:
        return vector[self.places[name]].view(self.named[name].shape)

    def step(self, *, lr: float, clip: float | None, moments: str = "") -> dict[str, float]:
        """One step on the gathered gradients, which are then cleared. If they are not finite, no parameter moves."""
        self._take_back()
        norm = float(torch.nn.utils.get_total_norm(self.grads.values()))
        finite = norm < float("inf")
        if finite:
            if clip is not None and norm > clip:
                self.gradient.mul_(clip / norm)
            self._move(lr, self._named(moments))
        self.clear()
        return {"grad_norm": norm, "skipped": 0.0 if finite else 1.0}

    @torch.no_grad()
    def _move(self, lr: float, moments: _Moments) -> None:
        """Calls torch's fused kernel directly: torch's optimiser class would spend seconds importing its compiler."""
        moments.steps += 1
        coded = slice(0, self.wide)
        if moments.coded is not None:
            shared = {"step": int(moments.steps), "betas": self.values.betas, "eps": self.values.eps}
            decay = self.values.weight_decay
            moments.coded.move(self.weights[coded], self.gradient[coded], lr=lr, decay=decay, **shared)
        for part, decay in self.decays:
            if part.stop <= self.wide:
                continue
            here = slice(part.start - self.wide, part.stop - self.wide)
            weight, grad = [self.weights[part]], [self.gradient[part]]
            mean, square = ([vector[here]] for vector in moments.vectors.values())
            torch.ops.aten._fused_adamw_(
                weight,
                grad,
                mean,
                square,
                [],
                [moments.steps],
                lr=lr,
                beta1=self.values.betas[0],
                beta2=self.values.betas[1],
                weight_decay=decay,
                eps=self.values.eps,
                amsgrad=False,
                maximize=False,
            )

    def _take_back(self) -> None:
        """Copy a gradient into the flat vector if other code has replaced `parameter.grad` by a tensor of its own."""
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

    def _state_of(self, name: str, moments: _Moments) -> dict[str, Tensor]:
        """The moments of a parameter by kind, as views in its shape; for moments in eight bits also their scales."""
        place, shape = self.places[name], self.named[name].shape
        if moments.coded is not None and place.start < self.wide:
            found = moments.coded.views(place)
        else:
            here = slice(place.start - self.wide, place.stop - self.wide)
            found = {kind: vector[here] for kind, vector in moments.vectors.items()}
        return {kind: vector.view(shape) if kind in MOMENTS else vector for kind, vector in found.items()}

    def view(self) -> dict[str, Tensor]:
        """The state as `exp_avg/NAME`, `exp_avg_sq/NAME` and `step/NAME`, not copied; empty before the first step.

        Moments in eight bits are uint8 and come with `exp_avg_scale/NAME` and `exp_avg_sq_scale/NAME`. The names of
        another set of moments begin with the set's name and a colon.
        """
        result: dict[str, Tensor] = {}
        for of in ("", *self.others):
            moments, before = self._known(of), f"{of}:" if of else ""
            if moments.steps:
                result |= {f"{before}step/{name}": moments.steps for name in self.named}
                for name in self.named:
                    found = self._state_of(name, moments)
                    result |= {f"{before}{kind}/{name}": value for kind, value in found.items()}
        return result

    def load(self, state: Mapping[str, Any]) -> None:
        self.others = {}
        sets: dict[str, dict[str, Any]] = {"": {}}
        for key, value in state.items():
            of, colon, rest = key.partition(":")
            apart = bool(colon) and "/" not in of
            sets.setdefault(of if apart else "", {})[rest if apart else key] = value
        for of, found in sets.items():
            self._load(self._named(of), found)

    def _load(self, moments: _Moments, state: Mapping[str, Any]) -> None:
        for vector in (moments.steps, *moments.vectors.values()):
            vector.zero_()
        if moments.coded is not None:
            moments.coded.clear()
        if not state:
            return
        steps = set()
        for name in self.named:
            for kind, own in (("step", moments.steps), *self._state_of(name, moments).items()):
                value = state.get(f"{kind}/{name}")
                if value is None or (kind != "step" and value.shape != own.shape):
                    raise StorageError(
                        f"the optimiser state has no fitting '{kind}/{name}': either none, or one of "
                        "another shape; is it of another model?"
                    )
                if kind == "step":
                    steps.add(float(value))
                    continue
                if (value.dtype == torch.uint8) != (own.dtype == torch.uint8):
                    raise StorageError(
                        f"the optimiser state stores '{kind}/{name}' as {value.dtype}, and this run needs {own.dtype}: "
                        "machine.optimiser_bits must be that of the run that saved the state"
                    )
                own.copy_(value)
        if len(steps) != 1:
            raise StorageError(
                f"the optimiser state counts different numbers of steps, {sorted(steps)}, for its parameters; every "
                "parameter takes every step, so the state is damaged."
            )
        moments.steps.fill_(steps.pop())
