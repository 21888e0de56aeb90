"""What outlasts a call of the core's sampler: pieces of prompts go in by their addresses, what it kept comes out so."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence

import numpy as np

from assay.engine.layout import offsets
from assay.engine.native.library import Rows
from assay.engine.prefix_cache import PrefixCache
from assay.policy.config import PolicyConfig
from assay.types import Ids


class Keeping:
    """For one call: what is known of its prompts, and places for what it computes."""

    def __init__(
        self, store: PrefixCache[Rows], config: PolicyConfig, *, prompts: Sequence[Ids], answers: int, max_new: int
    ) -> None:
        self.store, self.prompts = store, prompts
        for prompt in prompts:
            store.known(prompt)  # used now, so that room is not made of it
        self.room = store.make_room(sum(map(len, prompts)) + max_new)
        found = [store.known(prompt) for prompt in prompts]
        pieces = [piece for some in found for piece in some]
        self.held = pieces  # their memory must outlast the call
        token = 4 * 2 * config.layers * config.kv_heads * config.head_dim
        self.known = [sum(piece.count for piece in some) for some in found]
        self.arrays = {
            "piece_at": offsets(np.array([len(some) for some in found])),
            "pieces": np.array([piece.rows.address + piece.skip * token for piece in pieces], np.uintp),
            "piece_size": np.array([piece.count for piece in pieces], np.int32),
            "kept": np.zeros(len(prompts) + answers, np.uintp),
        }

    def taken(self, library: ctypes.CDLL) -> list[Rows | None]:
        """What the call left, whether it came to its end or not: of prompts, then of answers."""
        return [Rows(library, int(address)) if address else None for address in self.arrays["kept"]]

    def put(self, rows: Sequence[Rows | None], answers: Iterable[tuple[int, int, Ids]]) -> None:
        """Into the store, each answer as (its prompt, how many tokens of that it began behind, what was written)."""
        count = len(self.prompts)
        for prompt, start, some in zip(self.prompts, self.known, rows):
            if some:
                self.store.add(prompt, start, some)
        for (prompt, size, written), some in zip(answers, rows[count:], strict=True):
            if some:
                self.store.add(np.concatenate([self.prompts[prompt][:size], written[:-1]]), int(size), some)
