"""The prefix cache of the core's sampler. Python holds the cache; the core reads and fills it by memory addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from assay.engine.layout import offsets, stems
from assay.engine.native.library import Rows
from assay.engine.prefix_cache import Piece, PrefixCache
from assay.policy.config import PolicyConfig
from assay.types import Ids


class Keeping:
    """The prefix cache during one call of the sampler: cached pieces of the
    prompts, and places for new keys and values.

    A beginning that several prompts share, of which nothing is cached, is run before the call (by `prefill`). It is
    then a cached piece of these prompts, even if the cache has no room for it.
    """

    def __init__(
        self,
        store: PrefixCache[Rows],
        config: PolicyConfig,
        prefill: Callable[[Sequence[Ids]], list[Rows]],
        *,
        prompts: Sequence[Ids],
        answers: int,
        max_new: int,
    ) -> None:
        self.store, self.prompts = store, prompts
        for prompt in prompts:
            store.known(prompt)  # marks the prompt's runs as used, so that `make_room` drops others first
        store.make_room(sum(map(len, prompts)) + max_new)
        cached = [store.known(prompt) for prompt in prompts]
        new = [i for i, some in enumerate(cached) if not some]
        stem_of, beginnings = stems([prompts[i] for i in new])
        rows = prefill(beginnings) if beginnings else []
        for ids, some in zip(beginnings, rows):
            store.add(ids, 0, some)
        for i, stem in zip(new, stem_of):
            cached[i] = [Piece(rows[stem], 0, len(beginnings[stem]))] if stem >= 0 else []
        self.prefilled = sum(map(len, beginnings))  # tokens that were run before the call
        self.room = store.most - store.size
        pieces = [piece for some in cached for piece in some]
        self.held = pieces  # keeps their memory alive until the call is over
        token = 4 * 2 * config.layers * config.kv_heads * config.head_dim
        self.known = [sum(piece.count for piece in some) for some in cached]
        self.arrays = {
            "piece_at": offsets(np.array([len(some) for some in cached])),
            "pieces": np.array([piece.rows.address + piece.skip * token for piece in pieces], np.uintp),
            "piece_size": np.array([piece.count for piece in pieces], np.int32),
            "kept": np.zeros(len(prompts) + answers, np.uintp),
        }

    def taken(self, library: ctypes.CDLL) -> list[Rows | None]:
        """The keys and values that the call left, even if it failed: of each prompt, then of each answer."""
        return [Rows(library, int(address)) if address else None for address in self.arrays["kept"]]

    def put(self, rows: Sequence[Rows | None], answers: Iterable[tuple[int, int, Ids]]) -> None:
        """Store these keys and values. An answer is (index of its prompt, length of its prompt's part, ids written)."""
        count = len(self.prompts)
        for prompt, start, some in zip(self.prompts, self.known, rows):
            if some:
                self.store.add(prompt, start, some)
        for (prompt, size, written), some in zip(answers, rows[count:], strict=True):
            if some:
                self.store.add(np.concatenate([self.prompts[prompt][:size], written[:-1]]), int(size), some)
