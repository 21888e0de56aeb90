"""Decoding: a key-value cache with a slot for each row, and the step that feeds one token to every row in flight.

The rows in flight have the slots 0 .. n - 1. The token at position p of a row lies in column p of its slot, and columns
beyond the row's last position are masked.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from assay.engine.torch.linear import add_linear
from assay.engine.torch.network import Network, inverse_rms, scale_rows


class Decoder:
    """A key-value cache for `slots` rows of up to `length` tokens.

    Example:
        decoder.admit(0, index, prefilled)  # the prompts of the first rows
        hidden = decoder.step(ids, positions, longest)  # one more token of each row
    """

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
        """Copy prefilled prompts into the slots from `slot` on.

        `index` [rows, tokens] says which of the N prefilled tokens each is; `prefilled` has the keys and values
        [N, kv_heads, d] of each layer.
        """
        rows, tokens = index.shape
        where = torch.from_numpy(index).to(self.device)
        shape = (self.slots, self.config.kv_heads, self.length, self.config.head_dim)
        for layer, sources in enumerate(prefilled):
            for cache, source in zip((self.keys, self.values), sources):
                cache[layer].view(shape)[slot : slot + rows, :, :tokens] = source[where].transpose(1, 2)

    def held(self, slot: int, low: int, high: int) -> Tensor:
        """A copy [layers, 2, tokens, kv_heads, d] of a slot's keys and values at positions `low` .. `high` - 1."""
        c = self.config
        shape = (c.layers, self.slots, c.kv_heads, self.length, c.head_dim)
        parts = [cache.view(shape)[:, slot, :, low:high].transpose(1, 2) for cache in (self.keys, self.values)]
        return torch.stack(parts, 1)

    def move(self, source: np.ndarray, target: np.ndarray, tokens: int) -> None:
        """Copy the first `tokens` columns of the slots `source` onto the slots `target`."""
        a, b = torch.from_numpy(source).to(self.device), torch.from_numpy(target).to(self.device)
        c = self.config
        for cache in (self.keys, self.values):
            by_slot = cache.view(c.layers, self.slots, c.kv_heads, self.length, c.head_dim)
            for layer in by_slot:
                layer[b, :, :tokens] = layer[a, :, :tokens]

    def step(self, ids: Tensor, positions: Tensor, longest: int, *, level: bool = False) -> Tensor:
        """Hidden states [n, D] after feeding one token to each of the first n slots.

        `longest` is at least the greatest position plus one. `level` says that all positions are equal and `longest` is
        that number, so that no mask is needed. A CUDA graph can record this method: its shapes and addresses depend on
        the number of rows, on `longest` and on `level` alone, and it never waits for the device.
        """
        mask = None if level else self.mask(positions, longest)
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
        """The mask [n, 1, longest]: 0 up to each row's position, -inf beyond it."""
        mask = torch.zeros(len(positions), 1, longest, dtype=self.dtype, device=self.device)
        return mask.masked_fill_((self.columns[:longest] > positions[:, None])[:, None], -torch.inf)
