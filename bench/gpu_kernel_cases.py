"""The kernels that stage `kernels` of `bench.gpu` measures: a further kernel is a further case in `CASES`.

Torch's side is the engine's own path without kernels: the set in `kernels/plain.py`, and for decoding what a step does
with a cache in which every row has a copy of its prompt. Bytes are those of inputs and results, each once.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from assay.engine import filtering, head
from assay.engine.head import Coefficients
from bench.gpu_kernels import KERNELS, Case, Shape, kernel

EPS = 1e-6


def _random(shape: tuple[int, ...], device: str, *, scale: float = 1.0, kind: torch.dtype | None = None) -> Tensor:
    """The same numbers for the same shape."""
    kind = kind or (torch.bfloat16 if device == "cuda" else torch.float32)
    generator = torch.Generator(device).manual_seed(math.prod(shape))
    return torch.randn(shape, generator=generator, device=device).mul_(scale).to(kind)


def _read(*tensors: Tensor) -> int:
    return sum(one.nbytes for one in tensors)


# Norms


def _norm_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    return _random((s.tokens, s.hidden), device), EPS


def _norm_backward_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    h, r, _ = kernel("plain", "norm")(*_norm_inputs(s, device))
    residual, grad = _random((2, s.tokens, s.hidden), device).unbind()
    return residual.clone(), grad.clone(), h, r


# Rotations


def _angles(s: Shape, device: str) -> tuple[Tensor, Tensor]:
    """[N, 1, d], the sine with the sign of its half."""
    speed = 10_000.0 ** (-torch.arange(0, s.head_dim, 2, device=device) / s.head_dim)
    angle = torch.arange(s.tokens, device=device)[:, None] * speed
    cos, sin = angle.cos(), angle.sin()
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    return torch.cat([cos, cos], -1)[:, None].to(kind), torch.cat([-sin, sin], -1)[:, None].to(kind)


def _turn_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    return _random((s.tokens, s.heads + s.kv_heads, s.head_dim), device), *_angles(s, device)


def _turn_normed_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    x, cos, sin = _turn_inputs(s, device)
    return x, EPS, _random((s.heads + s.kv_heads, s.head_dim), device), cos, sin


# The gated unit


def _gate_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    return (_random((s.tokens, 2 * s.ffn), device),)


def _gate_backward_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    """Torch keeps silu(gate) and the product for its backward pass, our kernel keeps nothing."""
    both = _random((s.tokens, 2 * s.ffn), device)
    return _random((s.tokens, s.ffn), device), both, *kernel("plain", "gate")(both)[1]


# The output layer


def _read_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    hidden, weight = _random((s.read, s.hidden), device), _random((s.vocab, s.hidden), device, scale=s.hidden**-0.5)
    ids = torch.arange(s.read, device=device) * 7919 % s.vocab
    return hidden, weight, ids, torch.ones(s.read, device=device)


def _pull_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    inputs = _read_inputs(s, device)
    slope = _random((s.read,), device, kind=torch.float32)
    gathered = torch.zeros(s.vocab, s.hidden, device=device)
    return *inputs, slope, gathered, kernel("output", "read")(*inputs), head.read(*inputs)


def _pull(module: str, *inputs: Any) -> tuple[Tensor, Tensor]:
    """The gradient by the hidden states, and that by the weights, which was added up."""
    *given, slope, gathered, ours, torchs = inputs
    readout = ours if module == "output" else torchs
    return kernel(module, "pull")(*given, Coefficients(logp=slope), gathered, readout=readout), gathered


def _product(hidden: Tensor, weight: Tensor, *_: Any) -> int:
    return 2 * len(hidden) * weight.numel()


# Gradients of weights


def _gathered_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    total = torch.zeros(2 * s.ffn, s.hidden, device=device)
    return total, _random((s.tokens, 2 * s.ffn), device), _random((s.tokens, s.hidden), device)


def _gathered(add_product: Callable[..., None], total: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """What is added to zeros, so that repeated calls give the same."""
    add_product(total.zero_(), a, b)
    return total.clone()


# Decoding


class InFlight(NamedTuple):
    """Rows in flight: what our kernels read, each prompt once, and what torch does, a copy of it in every row."""

    q: Tensor  # [n, heads, d]
    positions: Tensor
    lengths: Tensor
    order: Tensor
    tiles: Tensor
    keys: Tensor  # [n * kv_heads, columns, d] of what the rows wrote
    values: Tensor
    prompt_keys: Tensor  # [tokens of all prompts, kv_heads, d]
    prompt_values: Tensor
    all_keys: Tensor  # [n * kv_heads, prompt + columns, d]
    all_values: Tensor

    @property
    def kv_heads(self) -> int:
        return self.prompt_keys.shape[1]

    @property
    def columns(self) -> int:
        return self.keys.shape[1]


def _in_flight(s: Shape, device: str) -> tuple[Any, ...]:
    rows, own, prompts, whole = s.prompts * s.samples, [], [], []
    for scale in (1.0, 2.0):  # keys, values
        own.append(_random((rows * s.kv_heads, s.columns, s.head_dim), device, scale=scale))
        prompts.append(_random((s.prompts * s.prompt, s.kv_heads, s.head_dim), device, scale=scale))
        copied = prompts[-1].view(s.prompts, s.prompt, s.kv_heads, s.head_dim).transpose(1, 2)
        copied = copied.repeat_interleave(s.samples, 0).reshape(rows * s.kv_heads, s.prompt, s.head_dim)
        whole.append(torch.cat([copied, own[-1]], 1))
    laid = [torch.arange(rows, device=device), torch.tensor(_tiles(s), device=device)]
    q = _random((rows, s.heads, s.head_dim), device)
    positions, lengths = (torch.full((rows,), count, device=device) for count in (s.columns - 1, s.prompt))
    return InFlight(q, positions, lengths, *laid, *own, *prompts, *whole)


def _tiles(s: Shape) -> list[tuple[int, int, int, int]]:
    """(first row, rows, where their prompt begins, its length), with as many rows as a program has queries for."""
    queries = importlib.import_module(f"{KERNELS}.decoding").TILE_QUERIES
    most = max(1, queries // (s.heads // s.kv_heads))
    cuts = [(prompt, at) for prompt in range(s.prompts) for at in range(0, s.samples, most)]
    return [(p * s.samples + at, min(most, s.samples - at), p * s.prompt, s.prompt) for p, at in cuts]


def _rows_ours(*inputs: Tensor) -> Tensor:
    at = InFlight(*inputs)
    return kernel("decoding", "attend_rows")(at.q, at.keys, at.values, at.positions, at.columns, kv_heads=at.kv_heads)


def _rows_torchs(*inputs: Tensor) -> Tensor:
    at = InFlight(*inputs)
    return attended(at.q, at.keys, at.values)


def _shared_ours(*inputs: Tensor) -> Tensor:
    at = InFlight(*inputs)
    prompts = ((at.prompt_keys, at.prompt_values), at.lengths, at.order, at.tiles, at.all_keys.shape[1] - at.columns)
    own = (at.keys, at.values, at.positions, at.columns)
    return kernel("decoding", "attend_shared")(at.q, *prompts, *own, kv_heads=at.kv_heads)


def _shared_torchs(*inputs: Tensor) -> Tensor:
    at = InFlight(*inputs)
    return attended(at.q, at.all_keys, at.all_values)


def _read_once(at: InFlight) -> int:
    return 2 * at.q.nbytes + _read(at.keys, at.values)


def attended(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Softmax attention of one query for each row over all its columns: [n, heads, d] to [n, heads * d]."""
    n, heads, d = q.shape
    grouped = q.view(len(keys), -1, d)
    scores = torch.baddbmm(q.new_empty(()), grouped, keys.transpose(1, 2), beta=0, alpha=d**-0.5)
    return torch.bmm(torch.softmax(scores, -1), values).view(n, heads * d)


def _draw_inputs(s: Shape, device: str) -> tuple[Any, ...]:
    rows = s.prompts * s.samples
    logits = _random((rows, s.vocab), device, kind=torch.float32)
    return logits, (torch.arange(rows, device=device, dtype=torch.float64) + 0.5) / rows


def _draw_ours(logits: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    drawn = kernel("draws", "draw_rows")(logits, u)
    return drawn.old, drawn.entropy


def _draw_torchs(logits: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    drawn = filtering.draw(logits, u, filtering.Filters())
    return drawn.old, drawn.entropy


CASES: tuple[Case, ...] = (
    Case(
        "norm",
        _norm_inputs,
        ours=kernel("norms", "norm"),
        torchs=kernel("plain", "norm"),
        bytes_moved=lambda x, eps: 2 * x.nbytes,
    ),
    Case(
        "norm, backward",
        _norm_backward_inputs,
        ours=kernel("norms", "norm_backward"),
        torchs=kernel("plain", "norm_backward"),
        bytes_moved=lambda residual, grad, h, r: _read(residual, grad, h, r) + h.nbytes,
    ),
    Case(
        "rotation",
        _turn_inputs,
        ours=kernel("rotations", "turn"),
        torchs=kernel("plain", "turn"),
        bytes_moved=lambda x, cos, sin: 2 * x.nbytes + _read(cos, sin),
    ),
    Case(
        "norm of heads and rotation",
        _turn_normed_inputs,
        ours=kernel("rotations", "turn_normed"),
        torchs=kernel("plain", "turn_normed"),
        bytes_moved=lambda x, eps, weight, cos, sin: 3 * x.nbytes + _read(weight, cos, sin),
    ),
    Case(
        "gated unit",
        _gate_inputs,
        ours=lambda both: kernel("gates", "gate")(both)[0],
        torchs=lambda both: kernel("plain", "gate")(both)[0],
        bytes_moved=lambda both: both.nbytes * 3 // 2,
    ),
    Case(
        "gated unit, backward",
        _gate_backward_inputs,
        ours=lambda grad, both, gated, act: kernel("gates", "gate_backward")(grad, both, None),
        torchs=lambda grad, both, gated, act: kernel("plain", "gate_backward")(grad, both, (gated, act)),
        bytes_moved=lambda grad, both, gated, act: grad.nbytes + 2 * both.nbytes,
    ),
    Case(
        "output layer",
        _read_inputs,
        ours=lambda *inputs: kernel("output", "read")(*inputs).logp,
        torchs=lambda *inputs: head.read(*inputs).logp,
        operations=_product,
    ),
    Case(
        "output layer, backward",
        _pull_inputs,
        ours=lambda *inputs: _pull("output", *inputs),
        torchs=lambda *inputs: _pull("plain", *inputs),
        operations=lambda *inputs: 3 * _product(*inputs),
    ),
    Case(
        "gradient of weights",
        _gathered_inputs,
        ours=lambda *inputs: _gathered(kernel("products", "add_product"), *inputs),
        torchs=lambda *inputs: _gathered(head.add_product, *inputs),
        operations=lambda total, a, b: 2 * len(a) * total.numel(),
    ),
    Case(
        "attention of a decoding step",
        _in_flight,
        ours=_rows_ours,
        torchs=_rows_torchs,
        bytes_moved=lambda *inputs: _read_once(InFlight(*inputs)),
    ),
    Case(
        "attention of a decoding step, prompts shared",
        _in_flight,
        ours=_shared_ours,
        torchs=_shared_torchs,
        bytes_moved=lambda *inputs: _read_once(InFlight(*inputs)) + _read(*InFlight(*inputs)[7:9]),
    ),
    Case("draw", _draw_inputs, ours=_draw_ours, torchs=_draw_torchs, bytes_moved=lambda logits, u: logits.nbytes),
)
