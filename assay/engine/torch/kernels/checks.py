"""Checks of a set of kernels on a small random case: what it computes beside torch's own operations in fp64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.engine.filtering import Filters
from assay.engine.head import Coefficients
from assay.engine.torch.kernels.interface import Kernels
from assay.engine.torch.kernels.plain import PLAIN, attend_shared
from assay.engine.torch.kernels.prompt_tiles import rows_of_tile, tiles_of

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
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int

    @property
    def turned(self) -> int:
        """Heads of queries and keys together."""
        return self.heads + self.kv_heads


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
    for shape, weights in (((TOKENS, s.hidden), (s.hidden,)), ((TOKENS, s.turned, s.head_dim), (s.turned, s.head_dim))):
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
    x = case.normal(TOKENS, s.turned + 1, s.head_dim)[:, : s.turned]  # a view, as the network gives it
    weight, angle = case.normal(s.turned, s.head_dim), case.normal(TOKENS, 1, s.head_dim // 2, dtype=torch.float32)
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


def gathered(kernels: Kernels, case: _Case) -> Compared:
    total = case.normal(case.sizes.hidden, case.sizes.ffn, dtype=torch.float32)
    a, b = case.normal(TOKENS, case.sizes.hidden), case.normal(TOKENS, case.sizes.ffn)
    exact = total.double() + a.double().t() @ b.double()
    kernels.add_product(total, a, b)
    yield "a gradient of weights", total, exact


def drawn(kernels: Kernels, case: _Case) -> Compared:
    logits, u = case.normal(TOKENS, WORDS, scale=3.0), torch.linspace(0.01, 0.99, TOKENS, dtype=torch.float64)
    tau = 1.0 + 0.1 * case.normal(TOKENS, dtype=torch.float32).tanh()
    greedy, u = torch.arange(TOKENS, device=case.device) % 5 == 0, u.to(case.device)
    got = kernels.draw(logits, u, Filters(torch.where(greedy, 1.0, tau), greedy))
    exact = PLAIN.draw(logits.double(), u, Filters(torch.where(greedy, 1.0, tau).double(), greedy))
    for name in ("token", "old", "mu", "entropy", "finite"):
        yield f"{name} of a draw", getattr(got, name), getattr(exact, name).double()


def decoding(kernels: Kernels, case: _Case) -> Compared:
    """Five rows: three of one prompt, one of another, one without any."""
    if kernels.attend_shared is None:
        return
    s, page, columns = case.sizes, 70, 40
    which, lengths, own = np.array([0, 0, 1, -1, 0]), np.array([70, 3]), [0, 39, 7, 12, 1]
    q, of_row = case.normal(len(own), s.heads, s.head_dim), np.where(which < 0, 0, lengths[which])
    store_k, store_v = case.normal(2, 2 * page, s.kv_heads, s.head_dim)
    keys, values = case.normal(2, len(own) * s.kv_heads, columns, s.head_dim)
    order, tiles = tiles_of(which, [0, page], lengths, per_tile=rows_of_tile(s.heads, s.kv_heads))
    size, order, tiles = (torch.from_numpy(array).to(case.device) for array in (of_row, order, tiles))
    filled = torch.tensor(own, device=case.device)
    about = (size, order, tiles, page, keys, values, filled, columns)
    got = kernels.attend_shared(q, (store_k, store_v), *about, kv_heads=s.kv_heads)
    wide_q, wide_k, wide_v, own_k, own_v = (tensor.double() for tensor in (q, store_k, store_v, keys, values))
    about = (size, order, tiles, page, own_k, own_v, filled, columns)
    yield "attention while decoding", got, attend_shared(wide_q, (wide_k, wide_v), *about, kv_heads=s.kv_heads)


CHECKS: dict[str, Callable[[Kernels, _Case], Compared]] = {
    "norms": norms,
    "rotations": rotations,
    "gates": gates,
    "output layer": output,
    "gradients of weights": gathered,
    "draws": drawn,
    "decoding": decoding,
}
"""Family of kernels -> its check."""
