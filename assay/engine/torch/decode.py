"""Decoding: a key-value cache with a slot for each row, and the step that feeds one token to every row in flight.

The rows in flight have the slots 0 .. n - 1. The token at position p of a row lies in column p of its slot, and columns
beyond the row's last position are masked. `shared_decode` has a cache in which a prompt lies once for all its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from assay.engine.torch.linear import add_linear
from assay.engine.torch.network import Network
from assay.engine.torch.upload import uploaded

Caches = list[tuple[Tensor, Tensor]]
"""Keys and values [N, kv_heads, d] of each layer."""


@dataclass(frozen=True)
class Need:
    """For what a call needs caches."""

    slots: int  # rows in flight
    length: int  # tokens of the longest row
    width: int  # of them, the most that are new
    beginnings: int  # different ones
    longest: int  # tokens of the longest beginning

    def within(self, other: Need) -> bool:
        """Whether caches for `other` serve."""
        return all(a <= b for a, b in zip(astuple(self), astuple(other)))


@dataclass(frozen=True, eq=False)
class Begun:
    """Rows that enter: the prompts that they continue, among tokens that were prefilled."""

    index: np.ndarray  # int64[rows, most]: which of the N prefilled tokens are those of each row's beginning
    size: np.ndarray  # int64[rows]: how many tokens it has
    prompt: np.ndarray  # int64[rows]: the number of the prompt; equal numbers and sizes are equal beginnings


Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries [n, heads, d], keys [n, kv_heads, d], values) -> what attention gives, [n, heads * d]."""


def fed(network: Network, ids: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
    """Hidden states [n, D] after one more token of each of n rows; `attend` keeps its key and value, and reads all."""
    c, kernels = network.config, network.kernels
    x = F.embedding(ids, network.embedding)
    for number, layer in enumerate(network.layers):
        _, _, heads, qk, _ = network.project(layer, x, cos, sin)
        o = attend(number, qk[:, : c.heads], qk[:, c.heads :], heads[:, c.heads + c.kv_heads :])
        x = add_linear(x, o, layer.out)
        h, _, _ = kernels.norm(x, layer.up.norm.eps)
        act, _ = kernels.gate(layer.up.product(h))
        x = add_linear(x, act, layer.down)
    return kernels.norm(x, network.model.model.norm.eps, network.final)[2]


class RowCaches:
    """The keys and values of `slots` rows, in `room` columns of each."""

    def __init__(self, network: Network, *, slots: int, room: int) -> None:
        c = network.config
        self.network, self.config = network, c
        self.dtype, self.device = network.dtype, network.device
        self.slots, self.room = slots, room
        shape = (c.layers, slots * c.kv_heads, room, c.head_dim)
        self.keys = torch.zeros(shape, dtype=self.dtype, device=self.device)
        self.values = torch.zeros(shape, dtype=self.dtype, device=self.device)
        self.heads = torch.arange(slots * c.kv_heads, device=self.device).view(slots, c.kv_heads) * room

    @property
    def by_slot(self) -> tuple[Tensor, Tensor]:
        """Keys and values as [layers, slots, kv_heads, room, d]."""
        c = self.config
        shape = (c.layers, self.slots, c.kv_heads, self.room, c.head_dim)
        return self.keys.view(shape), self.values.view(shape)

    def copied(self, slot: int, low: int, high: int) -> Tensor:
        """A copy [layers, 2, columns, kv_heads, d] of the columns `low` .. `high` - 1 of a slot."""
        return torch.stack([cache[:, slot, :, low:high].transpose(1, 2) for cache in self.by_slot], 1)

    def move(self, source: np.ndarray, target: np.ndarray, columns: int) -> None:
        """Copy the first `columns` columns of the slots `source` onto the slots `target`."""
        a, b = uploaded(source, self.device), uploaded(target, self.device)
        for cache in self.by_slot:
            for layer in cache:
                layer[b, :, :columns] = layer[a, :, :columns]

    def places(self, columns: Tensor) -> Tensor:
        """Where the keys of the first rows lie, for a column of each: int64[n * kv_heads]."""
        return (self.heads[: len(columns)] + columns[:, None]).view(-1)

    def keep(self, layer: int, places: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Put the keys and values [n, kv_heads, d] of one token of each row there; all keys and values of the layer."""
        keys, values, d = self.keys[layer], self.values[layer], self.config.head_dim
        keys.view(-1, d).index_copy_(0, places, k.reshape(-1, d))
        values.view(-1, d).index_copy_(0, places, v.reshape(-1, d))
        return keys, values


class Decoder(RowCaches):
    """A key-value cache for `slots` rows of up to `length` tokens.

    Example:
        decoder.admit(0, begun, prefilled)  # the prompts of the first rows
        hidden = decoder.step(ids, positions, longest)  # one more token of each row
    """

    variant = 0

    def __init__(self, network: Network, *, slots: int, length: int) -> None:
        super().__init__(network, slots=slots, room=length)
        self.cos, self.sin = network.tables(length)
        self.column = torch.arange(length, device=self.device)

    def admit(self, slot: int, begun: Begun, prefilled: Caches) -> None:
        """Copy the beginnings of rows into the slots from `slot` on; `prefilled` has keys and values of each layer."""
        rows, tokens = begun.index.shape
        where = uploaded(begun.index, self.device)
        for layer, sources in enumerate(prefilled):
            for cache, source in zip(self.by_slot, sources):
                cache[layer, slot : slot + rows, :, :tokens] = source[where].transpose(1, 2)

    def leave(self, left: int) -> None:
        """Only the first rows stay. What is in the slots of the others does no harm."""

    def columns(self, positions: np.ndarray) -> np.ndarray:
        """How many columns of their slots the first rows have filled, when their next tokens have these positions."""
        return positions

    def held(self, slot: int, low: int, high: int) -> Tensor:
        """A copy [layers, 2, tokens, kv_heads, d] of a slot's keys and values at positions `low` .. `high` - 1."""
        return self.copied(slot, low, high)

    def step(self, ids: Tensor, positions: Tensor, longest: int, *, level: bool = False) -> Tensor:
        """Hidden states [n, D] after feeding one token to each of the first n slots.

        `longest` is at least the greatest number of columns then filled. `level` says that it is that of all rows, so
        that no mask is needed. A CUDA graph can record this method: its shapes and addresses depend on the number of
        rows, on `longest` and on `level` alone, and it never waits for the device.
        """
        c = self.config
        n, d, kv = len(ids), c.head_dim, c.kv_heads
        mask = None if level else self.mask(positions, longest)
        where = self.places(positions)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.keep(layer, where, k, v)
            q = q.reshape(n * kv, c.heads // kv, d)
            seen = keys[: n * kv, :longest].transpose(1, 2)
            scores = torch.baddbmm(q.new_empty(()), q, seen, beta=0, alpha=d**-0.5)
            if mask is not None:
                scores.view(n, c.heads, longest).add_(mask)
            return torch.bmm(torch.softmax(scores, -1), values[: n * kv, :longest]).view(n, c.heads * d)

        return fed(self.network, ids, self.cos[positions], self.sin[positions], attend)

    def mask(self, positions: Tensor, longest: int) -> Tensor:
        """The mask [n, 1, longest]: 0 up to each row's position, -inf beyond it."""
        mask = torch.zeros(len(positions), 1, longest, dtype=self.dtype, device=self.device)
        return mask.masked_fill_((self.column[:longest] > positions[:, None])[:, None], -torch.inf)
