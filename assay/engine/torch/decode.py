"""One token for many rows at once: a cache of keys and values by slot, and the step over it.

Slots [0, n) are the rows in flight. A row's tokens lie at its positions, so columns beyond them are masked.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from assay.engine.torch.network import Network, add_linear, inverse_rms, scale_rows


class Decoder:
    """A cache of `slots` rows of up to `length` tokens."""

    def __init__(self, network: Network, *, slots: int, length: int) -> None:
        c = network.config
        self.network, self.config = network, c
        self.dtype, self.device = network.dtype, network.device
        self.slots, self.length = slots, length
        shape = (c.layers, slots * c.kv_heads, length, c.head_dim)
        self.keys = torch.zeros(shape, dtype=self.dtype, device=self.device)
        self.values = torch.zeros(shape, dtype=self.dtype, device=self.device)
        self.cos, self.sin = network.tables(length)
        self.heads = torch.arange(slots * c.kv_heads, device=self.device).view(slots, c.kv_heads) * length
        self.columns = torch.arange(length, device=self.device)

    def admit(self, slot: int, index: np.ndarray, prefilled: list[tuple[Tensor, Tensor]]) -> None:
        """Copy prefilled tokens into slots from `slot` on. `index` [rows, tokens] points into [N, kv_heads, d]."""
        rows, tokens = index.shape
        where = torch.from_numpy(index).to(self.device)
        shape = (self.slots, self.config.kv_heads, self.length, self.config.head_dim)
        for layer, sources in enumerate(prefilled):
            for cache, source in zip((self.keys, self.values), sources):
                cache[layer].view(shape)[slot : slot + rows, :, :tokens] = source[where].transpose(1, 2)

    def held(self, slot: int, low: int, high: int) -> Tensor:
        """A copy [layers, 2, tokens, kv_heads, d] of what a slot holds of positions `low` to `high`."""
        c = self.config
        shape = (c.layers, self.slots, c.kv_heads, self.length, c.head_dim)
        parts = [cache.view(shape)[:, slot, :, low:high].transpose(1, 2) for cache in (self.keys, self.values)]
        return torch.stack(parts, 1)

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
        return self.feed(ids, positions, longest, None if level else self.mask(positions, longest))

    def feed(self, ids: Tensor, positions: Tensor, longest: int, mask: Tensor | None) -> Tensor:
        """The same with a mask [n, 1, longest] of what each row may not see. Shapes and addresses depend on the number
        of rows and on `longest` alone, and nothing waits for the device, so that a CUDA graph can hold it.
        """
        c, network = self.config, self.network
        n, d, kv = len(ids), c.head_dim, c.kv_heads
        cos, sin = self.cos[positions], self.sin[positions]
        where = (self.heads[:n] + positions[:, None]).view(-1)
        x = F.embedding(ids, network.embedding)
        for layer, keys, values in zip(network.layers, self.keys, self.values):
            _, _, heads, qk, _ = network.project(layer, x, cos, sin)
            keys.view(-1, d).index_copy_(0, where, qk[:, c.heads :].reshape(n * kv, d))
            values.view(-1, d).index_copy_(0, where, heads[:, c.heads + kv :].reshape(n * kv, d))
            q = qk[:, : c.heads].reshape(n * kv, c.heads // kv, d)
            seen = keys[: n * kv, :longest].transpose(1, 2)
            scores = torch.baddbmm(q.new_empty(()), q, seen, beta=0, alpha=d**-0.5)
            if mask is not None:
                scores.view(n, c.heads, longest).add_(mask)
            o = torch.bmm(torch.softmax(scores, -1), values[: n * kv, :longest]).view(n, c.heads * d)
            x = add_linear(x, o, layer.out)
            h = scale_rows(x, inverse_rms(x, layer.up.norm.eps))
            both = layer.up.product(h)
            x = add_linear(x, F.silu(both[:, : c.ffn]).mul_(both[:, c.ffn :]), layer.down)
        return scale_rows(x, inverse_rms(x, network.model.model.norm.eps)).mul_(network.final)

    def mask(self, positions: Tensor, longest: int) -> Tensor:
        """[n, 1, longest]: -inf beyond each row's position."""
        mask = torch.zeros(len(positions), 1, longest, dtype=self.dtype, device=self.device)
        return mask.masked_fill_((self.columns[:longest] > positions[:, None])[:, None], -torch.inf)
