"""Checks of a set of kernels on a small random case: what it computes beside torch's own operations in fp64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.engine.head import Coefficients
from assay.engine.torch.kernels.interface import Kernels
from assay.engine.torch.kernels.plain import PLAIN

TOKENS = 37  # rows of a case: a multiple of no block
WORDS = 4103  # of its vocabulary: more than a program goes over at once
FURTHER = 2  # further log-probabilities of a token
EPS = 1e-6
UNITS = {torch.bfloat16: 4.0, torch.float32: 64.0}
"""By how many units in the last place of the largest exact number a kernel may be off. Sums round in fp32 at each
number that they add; in bf16 the rounding of the result is larger than that of the sum.
"""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a network for which its kernels are compiled."""

    hidden: int
    heads: int  # of queries and keys together
    head_dim: int
    ffn: int


Compared = Iterator[tuple[str, Tensor, Tensor]]
"""(what it is, what the kernels computed, the same in fp64)"""


class _Case:
    """Random tensors in the number format of a check, and each as fp64. They are the same on every device."""

    def __init__(self, sizes: Sizes, device: torch.device, dtype: torch.dtype) -> None:
        self.sizes, self.device, self.dtype = sizes, device, dtype
        self._generator = torch.Generator().manual_seed(0)

    def normal(self, *shape: int, scale: float = 1.0, dtype: torch.dtype | None = None) -> Tensor:
        drawn = torch.randn(shape, generator=self._generator) * scale
        return drawn.to(self.device, dtype or self.dtype)

    def ids(self, *shape: int) -> Tensor:
        return torch.randint(WORDS, shape, generator=self._generator).to(self.device)


def fault(family: str, kernels: Kernels, sizes: Sizes, device: torch.device, dtype: torch.dtype) -> str:
    """What is wrong with a family of these kernels, in words; "" if nothing is."""
    for name, got, exact in CHECKS[family](kernels, _Case(sizes, device, dtype)):
        allowed = UNITS[dtype] * torch.finfo(dtype).eps * max(1.0, float(exact.abs().max()))
        off = float((got.double() - exact).abs().max())
        if not off <= allowed:  # a number that is none is off too
            return f"{name} is off by {off:.3g}, and rounding explains {allowed:.3g}"
    return ""


def norms(kernels: Kernels, case: _Case) -> Compared:
    s = case.sizes
    for shape, weights in (((TOKENS, s.hidden), (s.hidden,)), ((TOKENS, s.heads, s.head_dim), (s.heads, s.head_dim))):
        x, gain, grad, residual = case.normal(*shape), case.normal(*weights), case.normal(*shape), case.normal(*shape)
        exact = PLAIN.norm(x.double(), EPS, gain.double())
        got = kernels.norm(x, EPS, gain)
        yield from zip(("x / rms", "1 / rms", "a norm"), got, exact, strict=True)
        h, r, _ = (value.double() for value in got)
        wide = [value.double() for value in (residual, grad, gain)]
        back = kernels.norm_backward(residual, grad.clone(), got[0], got[1])
        yield "the gradient of a norm beside a residual", back, PLAIN.norm_backward(wide[0], wide[1].clone(), h, r)
        back = kernels.norm_backward(None, grad, got[0], got[1], gain)
        yield "the gradient of a norm", back, PLAIN.norm_backward(None, wide[1], h, r, wide[2])


def rotations(kernels: Kernels, case: _Case) -> Compared:
    s = case.sizes
    x = case.normal(TOKENS, s.heads + 1, s.head_dim)[:, : s.heads]  # a view, as the network gives it
    weight, angle = case.normal(s.heads, s.head_dim), case.normal(TOKENS, 1, s.head_dim // 2, dtype=torch.float32)
    cos = torch.cat([angle.cos(), angle.cos()], -1).to(case.dtype)
    sin = torch.cat([-angle.sin(), angle.sin()], -1).to(case.dtype)
    wide = x.double(), cos.double(), sin.double()
    yield "a rotation", kernels.turn(x, cos, sin), PLAIN.turn(*wide)
    yield "the gradient of a rotation", kernels.turn_backward(x, cos, sin), PLAIN.turn_backward(*wide)
    got = kernels.turn_normed(x, EPS, weight, cos, sin)
    exact = PLAIN.turn_normed(wide[0], EPS, weight.double(), *wide[1:])
    yield from zip(("normed heads, rotated", "normed heads", "1 / rms of heads"), got, exact, strict=True)


def gates(kernels: Kernels, case: _Case) -> Compared:
    both, grad = case.normal(TOKENS, 2 * case.sizes.ffn), case.normal(TOKENS, case.sizes.ffn)
    act, gated = kernels.gate(both)
    exact, held = PLAIN.gate(both.double())
    yield "a gated unit", act, exact
    yield "a gated unit, computed again", kernels.gate_again(both, gated), exact
    back = PLAIN.gate_backward(grad.double(), both.double(), held)
    yield "the gradient of a gated unit", kernels.gate_backward(grad, both, gated), back


def output(kernels: Kernels, case: _Case) -> Compared:
    size, wide = case.sizes.hidden, torch.float32
    hidden, weight = case.normal(TOKENS, size), case.normal(WORDS, size, scale=size**-0.5)
    ids, top_ids = case.ids(TOKENS), case.ids(TOKENS, FURTHER)
    tau = 1.0 + 0.1 * case.normal(TOKENS, dtype=wide).tanh()
    values = [case.normal(*shape, dtype=wide) for shape in ((TOKENS,), (TOKENS,), (TOKENS, FURTHER))]
    about, doubles = {"entropy": True, "top_ids": top_ids}, (hidden.double(), weight.double())
    got = kernels.read(hidden, weight, ids, tau, **about)
    exact = PLAIN.read(*doubles, ids, tau.double(), **about)
    for name in ("logp", "entropy", "top_logp"):
        yield name, getattr(got, name), getattr(exact, name)
    grad, exact_grad = torch.zeros_like(weight, dtype=wide), torch.zeros_like(doubles[1])
    given = Coefficients(*values)
    by_hidden = kernels.pull(hidden, weight, ids, tau, given, grad, readout=got, top_ids=top_ids)
    wider = Coefficients(*(value.double() for value in values))
    exactly = PLAIN.pull(*doubles, ids, tau.double(), wider, exact_grad, readout=exact, top_ids=top_ids)
    yield "the gradient by hidden states", by_hidden, exactly
    yield "the gradient by the output layer", grad, exact_grad


CHECKS: dict[str, Callable[[Kernels, _Case], Compared]] = {
    "norms": norms,
    "rotations": rotations,
    "gates": gates,
    "output layer": output,
}
"""Family of kernels -> its check."""
