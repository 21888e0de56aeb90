"""The linear layers of the packed network: products forward, products backward, and where gradients are gathered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from assay.engine.head import add_product
from assay.engine.torch.kernels.interface import AddProduct
from assay.engine.torch.lowrank import LowRank, gradient_of


def onto(before: Tensor | None, new: Tensor) -> Tensor:
    """The values of `new` in the memory of `before`, if it has the shape."""
    if before is None or before.shape != new.shape or before.dtype != new.dtype or before.data_ptr() == new.data_ptr():
        return new
    return before.copy_(new)


@dataclass(eq=False)
class Folded:
    """Linear layers that follow a norm, stacked to one matrix with the norm's weight folded in, and its gradient."""

    norm: Any
    parts: list[Any]  # the linear layers
    weight: Tensor
    bias: Tensor | None
    gain: Tensor | None = None  # the norm's weight, if it is not folded in
    low: LowRank | None = None
    add: AddProduct = add_product
    grad: Tensor | None = None  # by `weight`
    bias_grad: Tensor | None = None

    @classmethod
    def of(cls, norm: Any, parts: list[Any], dtype: torch.dtype, *, fold: bool, add: AddProduct) -> Folded:
        bias = torch.cat([part.bias for part in parts]).to(dtype) if parts[0].bias is not None else None
        if fold:
            folded = (torch.cat([part.weight for part in parts]) * norm.weight).to(dtype)
            return cls(norm, parts, folded, bias, add=add)
        gain = norm.weight.detach().to(dtype)
        return cls(norm, parts, stacked(parts, dtype), bias, gain, LowRank.of(parts, dtype), add)

    def settle(self, before: Folded) -> None:
        """Move into the memory that these layers had before."""
        self.weight = onto(before.weight, self.weight)
        if self.bias is not None:
            self.bias = onto(before.bias, self.bias)
        if self.gain is not None:
            self.gain = onto(before.gain, self.gain)
        if self.low is not None:
            self.low = self.low.onto(before.low)

    def product(self, h: Tensor) -> Tensor:
        """The output of the layers for h = x / rms."""
        if self.gain is None:
            return F.linear(h, self.weight, self.bias)
        h = h * self.gain
        y = F.linear(h, self.weight, self.bias)
        return y if self.low is None else self.low.add(y, h)

    def backward(self, grad: Tensor, h: Tensor) -> Tensor:
        """The gradient by h. The gradients of trained weights are gathered."""
        if self.gain is None:
            _gather_folded(self, grad, h)
            return grad @ self.weight
        by_h = grad @ self.weight
        if self.low is not None:
            by_h += self.low.backward(grad, h * self.gain)
        return by_h.mul_(self.gain)

    def hand_out(self) -> None:
        if self.grad is not None:
            unfold(self.norm, self.parts, self.grad, self.bias_grad)
        self.grad = self.bias_grad = None


def unfold(norm: Any, parts: list[Any], grad: Tensor, bias_grad: Tensor | None) -> None:
    """Add the gradients by stacked layers with a norm's weight folded in to those of the parameters:
    dW = d(W w) * w, dw = column sums of d(W w) * W.
    """
    at = 0
    for part in parts:
        rows = slice(at, at + len(part.weight))
        accumulate(norm.weight, (grad[rows] * part.weight).sum(0))
        accumulate(part.weight, grad[rows] * norm.weight)
        if bias_grad is not None:
            accumulate(part.bias, bias_grad[rows])
        at = rows.stop


@dataclass(eq=False)
class Plain:
    """A linear layer that follows no norm."""

    part: Any
    weight: Tensor
    bias: Tensor | None
    low: LowRank | None
    add: AddProduct = add_product

    @classmethod
    def of(cls, part: Any, dtype: torch.dtype, *, add: AddProduct) -> Plain:
        bias = None if part.bias is None else part.bias.detach().to(dtype)
        return cls(part, part.weight.detach().to(dtype), bias, LowRank.of([part], dtype), add)

    def settle(self, before: Plain) -> None:
        """Move into the memory that this layer had before."""
        self.weight = onto(before.weight, self.weight)
        if self.bias is not None:
            self.bias = onto(before.bias, self.bias)
        if self.low is not None:
            self.low = self.low.onto(before.low)

    def backward(self, grad: Tensor, x: Tensor) -> Tensor:
        """The gradient by x. The gradients of trained weights are gathered."""
        if self.part.weight.requires_grad:
            _gather_plain(self, grad, x)
        by_x = grad @ self.weight
        return by_x if self.low is None else by_x.add_(self.low.backward(grad, x))


def add_linear(x: Tensor, y: Tensor, layer: Plain) -> Tensor:
    """x + y W' + b"""
    x = torch.addmm(x, y, layer.weight.t())
    if layer.low is not None:
        layer.low.add(x, y)
    return x if layer.bias is None else x.add_(layer.bias)


@torch.no_grad()
def stacked(parts: list[Any], dtype: torch.dtype) -> Tensor:
    """The weights of these layers as one matrix. From then on the layers' weights are views of that matrix."""
    weights = [part.weight for part in parts]
    first, at = weights[0], weights[0].storage_offset()
    rows = sum(len(weight) for weight in weights)
    for weight in weights:
        one_piece = weight.is_contiguous() and weight.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        if not one_piece or weight.storage_offset() != at or weight.dtype != dtype:
            break
        at += weight.numel()
    else:
        return first.detach().as_strided((rows, first.shape[1]), (first.shape[1], 1))
    whole = torch.cat([weight.detach().to(dtype) for weight in weights])
    for weight, view in zip(weights, whole.split([len(weight) for weight in weights])):
        weight.data = view
    return whole


def accumulate(parameter: Tensor, grad: Tensor) -> None:
    """Adds to the gradient of a parameter."""
    gradient_of(parameter).add_(grad)


def _gather_plain(layer: Plain, grad: Tensor, x: Tensor) -> None:
    layer.add(gradient_of(layer.part.weight), grad, x)
    if layer.bias is not None:
        accumulate(layer.part.bias, grad.sum(0))


def _gather_folded(layer: Folded, grad: Tensor, h: Tensor) -> None:
    wide = layer.norm.weight.dtype
    if layer.grad is None:
        layer.grad = torch.zeros_like(layer.weight, dtype=wide)
        layer.bias_grad = None if layer.bias is None else torch.zeros_like(layer.bias, dtype=wide)
    layer.add(layer.grad, grad, h)
    if layer.bias_grad is not None:
        layer.bias_grad.add_(grad.sum(0))
