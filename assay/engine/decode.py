"""One token for many rows at once: weights packed for few, large products, and a cache of keys and values by slot.

The same network as `Transformer.forward`, whose norms it calls; only the linear layers are fused and the rotary angles
looked up. Slots [0, n) are the rows in flight. A row's tokens lie at its positions, so columns beyond them are masked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from assay.policy.transformer import Block, Transformer


@dataclass(frozen=True, eq=False)
class _Layer:
    block: Block
    qkv: Tensor
    qkv_bias: Tensor | None
    out: Tensor
    out_bias: Tensor | None
    up: Tensor
    up_bias: Tensor | None
    down: Tensor
    down_bias: Tensor | None


def _fuse(*linears: torch.nn.Linear) -> tuple[Tensor, Tensor | None]:
    bias = torch.cat([x.bias for x in linears]) if linears[0].bias is not None else None
    return torch.cat([x.weight for x in linears]), bias


def rotations(model: Transformer, count: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines [count, 1, d] of the model's rotary positions, read off by turning a basis vector."""
    d = model.config.head_dim
    basis = torch.zeros(count, 1, d, dtype=dtype, device=device)
    basis[..., : d // 2] = 1.0
    turned = model.rotary(torch.arange(count, device=device), dtype)(basis)
    cos, sin = turned[..., : d // 2], turned[..., d // 2 :]
    return torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)


class Decoder:
    """The weights of one version, a cache of `slots` rows of up to `length` tokens, and the step over them."""

    def __init__(self, model: Transformer, *, slots: int, length: int) -> None:
        c = model.config
        self.model, self.config = model, c
        weight = model.model.embed_tokens.weight
        self.dtype, self.device = weight.dtype, weight.device
        self.slots, self.length = slots, length
        self.layers = [self._pack(block) for block in model.model.layers]
        shape = (c.layers, slots * c.kv_heads, length, c.head_dim)
        self.keys = torch.zeros(shape, dtype=self.dtype, device=self.device)
        self.values = torch.zeros(shape, dtype=self.dtype, device=self.device)
        self.cos, self.sin = rotations(model, length, self.dtype, self.device)
        self.heads = torch.arange(slots * c.kv_heads, device=self.device) * length
        self.columns = torch.arange(length, device=self.device)

    @staticmethod
    def _pack(block: Block) -> _Layer:
        attention, mlp = block.self_attn, block.mlp
        return _Layer(
            block,
            *_fuse(attention.q_proj, attention.k_proj, attention.v_proj),
            *_fuse(attention.o_proj),
            *_fuse(mlp.gate_proj, mlp.up_proj),
            *_fuse(mlp.down_proj),
        )

    def admit(self, slot: int, index: np.ndarray, keys: list[Tensor], values: list[Tensor]) -> None:
        """Copy prefilled tokens into slots from `slot` on. `index` [rows, tokens] points into [N, kv_heads, d]."""
        rows, tokens = index.shape
        where = torch.from_numpy(index).to(self.device)
        for cache, packed in ((self.keys, keys), (self.values, values)):
            for layer, source in enumerate(packed):
                target = cache[layer].view(self.slots, self.config.kv_heads, self.length, self.config.head_dim)
                target[slot : slot + rows, :, :tokens] = source[where].transpose(1, 2)

    def move(self, source: np.ndarray, target: np.ndarray, tokens: int) -> None:
        """Copy the first `tokens` columns of slots onto other slots."""
        a, b = torch.from_numpy(source).to(self.device), torch.from_numpy(target).to(self.device)
        c = self.config
        for cache in (self.keys, self.values):
            by_slot = cache.view(c.layers, self.slots, c.kv_heads, self.length, c.head_dim)
            for layer in by_slot:
                layer[b, :, :tokens] = layer[a, :, :tokens]

    def step(self, ids: Tensor, positions: Tensor, longest: int, level: bool) -> Tensor:
        """Hidden states [n, D] after feeding one token to each of the first n slots.

        `longest` is the greatest position plus one; `level` says that all positions are equal, so nothing is masked.
        """
        c = self.config
        n, d, kv = len(ids), c.head_dim, c.kv_heads
        group = c.heads // kv
        turned = c.heads + kv
        half = d // 2
        cos, sin = self.cos[positions], self.sin[positions]
        low, high = sin[..., :half], sin[..., half:]
        where = self.heads[: n * kv] + (positions if kv == 1 else positions.repeat_interleave(kv))
        mask = None
        if not level:
            hidden = self.columns[:longest] > positions[:, None]
            mask = torch.zeros(n, 1, longest, dtype=self.dtype, device=self.device)
            mask.masked_fill_(hidden[:, None], -torch.inf)
        x = F.embedding(ids, self.model.model.embed_tokens.weight)
        for index, layer in enumerate(self.layers):
            block = layer.block
            heads = F.linear(block.input_layernorm(x), layer.qkv, layer.qkv_bias).view(n, turned + kv, d)
            v = heads[:, turned:]
            qk = heads[:, :turned]
            if c.qk_norm:
                qk = torch.cat([block.self_attn.q_norm(qk[:, : c.heads]), block.self_attn.k_norm(qk[:, c.heads :])], 1)
            r = qk * cos
            r[..., :half].addcmul_(qk[..., half:], low)
            r[..., half:].addcmul_(qk[..., :half], high)
            keys, values = self.keys[index], self.values[index]
            keys.view(-1, d).index_copy_(0, where, r[:, c.heads :].reshape(n * kv, d))
            values.view(-1, d).index_copy_(0, where, v.reshape(n * kv, d))
            q = r[:, : c.heads].reshape(n * kv, group, d)
            seen = keys[: n * kv, :longest]
            scores = torch.baddbmm(q.new_empty(()), q, seen.transpose(1, 2), beta=0, alpha=d**-0.5)
            if mask is not None:
                scores.view(n, c.heads, longest).add_(mask)
            o = torch.bmm(torch.softmax(scores, -1), values[: n * kv, :longest]).view(n, c.heads * d)
            x = _add_linear(x, o, layer.out, layer.out_bias)
            both = F.linear(block.post_attention_layernorm(x), layer.up, layer.up_bias)
            gated = F.silu(both[:, : c.ffn]).mul_(both[:, c.ffn :])
            x = _add_linear(x, gated, layer.down, layer.down_bias)
        return self.model.model.norm(x)


def _add_linear(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None and x.dtype != torch.bfloat16:
        return torch.addmm(x, y, weight.t())
    return x + F.linear(y, weight, bias)
