"""Rotary positions: the inverse frequencies of every rope variant of the supported families.

With d the head size, x_i = 2i/d and f_i = theta^(-x_i):

    default   f_i
    linear    f_i / factor
    dynamic   theta becomes theta * (factor * L / context - (factor - 1))^(d / (d - 2)), L = max(row length, context)
    llama3    f_i where its wavelength is below original/high, f_i / factor above original/low, a blend between
    yarn      a blend of f_i and f_i / factor by a ramp over i; cos and sin scaled                        (2309.00071)
    longrope  f_i / long_i where the row is longer than `original_context`, else f_i / short_i; scaled    (2402.13753)

`dynamic` and `longrope` depend on the length L of the whole row. A key that was rotated when the row was short is wrong
once the row has grown, so no key-value cache can be right for every final length. Two choices are consistent. Without
`fit`, each call takes its largest position + 1 as L, as transformers does in one full forward pass. With `fit(L)`, L is
fixed: decoding from a cache, packed training and a full forward pass of a row of length L are then one function. An
engine that samples or packs must fit L to the longest row of the run. Fitted to L <= context, `dynamic` is `default`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from assay.errors import ConfigError
from assay.policy.config import PolicyConfig, Rope


def frequencies(config: PolicyConfig, *, length: int) -> Tensor:
    """float32[d/2] inverse frequencies for rows of `length` tokens."""
    return _VARIANTS[config.rope.kind](config, length)


def attention_scale(config: PolicyConfig) -> float:
    """The factor on cos and sin that keeps the entropy of attention about the same when positions are stretched."""
    rope = config.rope
    if rope.kind not in ("yarn", "longrope"):
        return 1.0
    if rope.attention_factor is not None:
        return rope.attention_factor
    if rope.factor <= 1:
        return 1.0
    if rope.kind == "longrope":
        return math.sqrt(1 + math.log(rope.factor) / math.log(_original(rope)))
    if rope.mscale and rope.mscale_all_dim:
        return _yarn_scale(rope.factor, rope.mscale) / _yarn_scale(rope.factor, rope.mscale_all_dim)
    return _yarn_scale(rope.factor, 1.0)


def _yarn_scale(factor: float, weight: float) -> float:
    return 0.1 * weight * math.log(factor) + 1.0


def _original(rope: Rope) -> int:
    if rope.original_context is None:
        raise ConfigError(f"rope '{rope.kind}' needs original_context.")
    return rope.original_context


def _exponents(config: PolicyConfig) -> Tensor:
    return torch.arange(0, config.head_dim, 2, dtype=torch.float32, device="cpu") / config.head_dim


def _plain(config: PolicyConfig, length: int) -> Tensor:
    return 1.0 / config.rope.theta ** _exponents(config)


def _linear(config: PolicyConfig, length: int) -> Tensor:
    return _plain(config, length) / config.rope.factor


def _dynamic(config: PolicyConfig, length: int) -> Tensor:
    d, factor = config.head_dim, config.rope.factor
    stretch = factor * max(length, config.context) / config.context - (factor - 1)
    return 1.0 / (config.rope.theta * stretch ** (d / (d - 2))) ** _exponents(config)


def _llama3(config: PolicyConfig, length: int) -> Tensor:
    rope, plain = config.rope, _plain(config, length)
    low, high = rope.low_freq_factor or 0.0, rope.high_freq_factor or 0.0
    turns = _original(rope) / (2 * math.pi / plain)
    blend = ((turns - low) / (high - low)).clamp(0, 1)
    return (1 - blend) * plain / rope.factor + blend * plain


def _yarn(config: PolicyConfig, length: int) -> Tensor:
    rope, d = config.rope, config.head_dim

    def dimension(turns: float) -> float:
        """Index of the frequency that makes `turns` full turns within the original context."""
        return d * math.log(_original(rope) / (turns * 2 * math.pi)) / (2 * math.log(rope.theta))

    low, high = dimension(rope.beta_fast or 32), dimension(rope.beta_slow or 1)
    if rope.truncate is None or rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    if low == high:
        high += 0.001
    ramp = ((torch.arange(d // 2, dtype=torch.float32, device="cpu") - low) / (high - low)).clamp(0, 1)
    power = rope.theta ** _exponents(config)
    return (1.0 / (rope.factor * power)) * ramp + (1.0 / power) * (1 - ramp)


def _longrope(config: PolicyConfig, length: int) -> Tensor:
    rope = config.rope
    factors = rope.long_factor if length > _original(rope) else rope.short_factor
    return 1.0 / (torch.tensor(factors, dtype=torch.float32, device="cpu") * rope.theta ** _exponents(config))


_VARIANTS: dict[str, Callable[[PolicyConfig, int], Tensor]] = {
    "default": _plain,
    "linear": _linear,
    "dynamic": _dynamic,
    "llama3": _llama3,
    "yarn": _yarn,
    "longrope": _longrope,
}


class Rotary(nn.Module):
    """Rotates queries and keys [N, heads, d] by their positions, in halves as Hugging Face checkpoints expect.

    Example:
        turn = rotary(positions, q.dtype)
        q, k = turn(q), turn(k)
    """

    inverse: Tensor

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.length: int | None = None
        self.scale = attention_scale(config)
        self.register_buffer("inverse", frequencies(config, length=1), persistent=False)

    def fit(self, length: int | None) -> None:
        """Fixes the row length that the frequencies are made for. None: the largest position of each call decides."""
        if length is not None and length < 1:
            raise ConfigError(f"the row length to fit rotary positions to must be at least 1, not {length}.")
        self.length = length
        self.inverse = frequencies(self.config, length=length or 1).to(self.inverse.device)

    def forward(self, positions: Tensor, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        inverse = self.inverse
        if self.config.rope.stretches and self.length is None and len(positions):
            inverse = frequencies(self.config, length=int(positions.max()) + 1).to(positions.device)
        angle = positions.float()[:, None] * inverse[None, :]
        cos, sin = angle.cos() * self.scale, angle.sin() * self.scale
        cos = torch.cat([cos, cos], -1)[:, None, :].to(dtype)
        sin = torch.cat([sin, sin], -1)[:, None, :].to(dtype)

        def turn(x: Tensor) -> Tensor:
            first, second = x.chunk(2, -1)
            return x * cos + torch.cat([-second, first], -1) * sin

        return turn

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Rotary:
        """Moves to a device but keeps fp32, which positions need. Recomputes
        the frequencies, which `to_empty` erases.
        """
        super()._apply(fn, recurse)
        self.inverse = frequencies(self.config, length=self.length or 1).to(self.inverse.device)
        return self
