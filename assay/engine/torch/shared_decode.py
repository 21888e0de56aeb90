"""Decoding where a prompt lies once for all rows that continue it, and a kernel reads it once for several of them.

The prompts of the rows in flight have pages in a store. A row's own slot begins behind its prompt: the token at
position p lies in column p - size, for a beginning of `size` tokens. Which rows share a page is told to the kernel in
tiles, which the host makes anew when rows enter, leave or move; a recorded step reads them where they lie.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from assay.engine.torch.decode import Begun, Caches, Need, RowCaches, fed
from assay.engine.torch.kernels.interface import AttendShared
from assay.engine.torch.kernels.prompt_tiles import most_tiles, rows_of_tile, tiles_of
from assay.engine.torch.network import Network
from assay.engine.torch.upload import uploaded


class SharedDecoder(RowCaches):
    """A key-value cache for `need.slots` rows, whose prompts lie in a store of pages: as `Decoder` otherwise."""

    def __init__(self, network: Network, attend: AttendShared, need: Need) -> None:
        super().__init__(network, slots=need.slots, room=need.width)
        c, device = self.config, self.device
        self.attend, self.page = attend, need.longest
        pages = min(need.slots, need.beginnings)
        self.store = torch.zeros(
            2, c.layers, pages * self.page, c.kv_heads, c.head_dim, dtype=self.dtype, device=device
        )
        self.cos, self.sin = network.tables(need.length)
        self.per_tile = rows_of_tile(c.heads, c.kv_heads)
        self.most = max(1, most_tiles(need.slots, pages, self.per_tile))
        self.order, self.sizes = (torch.zeros(need.slots, dtype=torch.int64, device=device) for _ in range(2))
        self.tiles = torch.zeros(self.most, 4, dtype=torch.int64, device=device)
        self.size = np.zeros(need.slots, np.int64)  # of each row's beginning
        self.of = np.full(need.slots, -1)  # the page of each row's beginning
        self.pages: dict[tuple[int, int], int] = {}  # (prompt, size) -> page
        self.free = list(range(pages))
        self.variant = 1  # as many tiles as a step reads

    def admit(self, slot: int, begun: Begun, prefilled: Caches) -> None:
        """Take the pages of the beginnings of rows, which get the slots from `slot` on."""
        for row, (prompt, size) in enumerate(zip(begun.prompt, begun.size)):
            known = self.pages.get((int(prompt), int(size)))
            self.of[slot + row] = self._page(begun, row, prefilled) if known is None else known
            self.size[slot + row] = size
        self._tell(slot + len(begun.size))

    def _page(self, begun: Begun, row: int, prefilled: Caches) -> int:
        """A page with the beginning of this row."""
        page, size = self.free.pop(), int(begun.size[row])
        self.pages[int(begun.prompt[row]), size] = page
        where, begin = uploaded(begun.index[row, :size], self.device), page * self.page
        for layer, sources in enumerate(prefilled):
            for half, source in zip(self.store, sources):
                half[layer, begin : begin + size] = source[where]
        return page

    def leave(self, left: int) -> None:
        """Only the first rows stay. Pages that none of them continues are free."""
        self.of[left:], self.size[left:] = -1, 0
        used = set(self.of[:left].tolist())
        self.pages = {beginning: page for beginning, page in self.pages.items() if page in used}
        self.free = [page for page in range(self.store.shape[2] // self.page) if page not in used]
        self._tell(left)

    def move(self, source: np.ndarray, target: np.ndarray, columns: int) -> None:
        super().move(source, target, columns)
        self.of[target], self.size[target] = self.of[source], self.size[source]

    def _tell(self, rows: int) -> None:
        """Write for the kernel which of the first rows share a page, in tiles whose number is a power of two."""
        tiles, order = np.zeros((0, 4), np.int64), np.zeros(0, np.int64)
        if rows:
            begun, which = np.unique([self.of[:rows], self.size[:rows]], axis=1, return_inverse=True)
            order, tiles = tiles_of(which.ravel(), begun[0] * self.page, begun[1], per_tile=self.per_tile)
        self.variant = min(self.most, 1 << max(0, len(tiles) - 1).bit_length())
        padded = np.zeros((self.variant, 4), np.int64)
        padded[: len(tiles)] = tiles
        self.order[:rows].copy_(uploaded(order, self.device))
        self.tiles[: self.variant].copy_(uploaded(padded, self.device))
        self.sizes.copy_(uploaded(self.size.copy(), self.device))

    def columns(self, positions: np.ndarray) -> np.ndarray:
        """How many columns of their slots the first rows have filled, when their next tokens have these positions."""
        return positions - self.size[: len(positions)]

    def held(self, slot: int, low: int, high: int) -> Tensor:
        """A copy [layers, 2, tokens, kv_heads, d] of a slot's keys and values at positions `low` .. `high` - 1, which
        stand behind its beginning.
        """
        size = int(self.size[slot])
        return self.copied(slot, low - size, high - size)

    def step(self, ids: Tensor, positions: Tensor, longest: int, *, level: bool = False) -> Tensor:
        """As `Decoder.step`; a CUDA graph of it holds for one `variant`."""
        sizes, tiles = self.sizes[: len(ids)], self.tiles[: self.variant]
        own = positions - sizes
        where = self.places(own)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = self.keep(layer, where, k, v)
            store = (self.store[0, layer], self.store[1, layer])
            behind = (keys, values, own, longest)
            return self.attend(q, store, sizes, self.order, tiles, self.page, *behind, kv_heads=self.config.kv_heads)

        return fed(self.network, ids, self.cos[positions], self.sin[positions], attend)
