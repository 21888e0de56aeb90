"""Sampling with a network of `transformers`: waves of rows, padded on the left, over the network's own key-value cache.

Each distinct prompt of a wave is run once, and its part of the cache is repeated for each of its rows. A row that is
finished leaves the wave. Tokens are drawn by `assay.engine.sampling_call`, as in every engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from assay.engine.interface import Done, Generation, Heard
from assay.engine.layout import distinct
from assay.engine.sampling_call import Limits, SamplingCall, check, prompt_of
from assay.engine.transformers.padded import rectangle
from assay.rng import Key
from assay.types import Ids, Request

if TYPE_CHECKING:
    from assay.engine.transformers.engine import AdapterEngine

MOST_ROWS = 256


def row_bytes(engine: AdapterEngine, length: int) -> int:
    """Bytes of the keys and values of one row, if every layer caches the whole row."""
    c = engine.model.config
    return 2 * c.layers * c.kv_heads * c.head_dim * length * engine.compute.itemsize


@torch.inference_mode()
def generate(
    engine: AdapterEngine,
    requests: Sequence[Request],
    key: Key,
    *,
    limits: Limits,
    done: Done | None = None,
    heard: Heard | None = None,
) -> list[Generation]:
    """One generation for each request, in the order of the requests; `done` is told of each when it is complete, and
    `heard` after each token.
    """
    check(requests, limits)
    if not requests:
        return []
    prompts = [prompt_of(request) for request in requests]
    which, _ = distinct(prompts)
    lengths = np.array([len(prompt) for prompt in prompts])
    order = np.lexsort((which, lengths))  # rows of one prompt together, prompts of similar length together
    longest = max(len(prompt) + request.max_new for prompt, request in zip(prompts, requests))
    wave = min(MOST_ROWS, max(1, limits.memory_bytes // row_bytes(engine, longest)))
    flight = SamplingCall(requests, key, limits, engine.version, engine.vocab, engine.wide, done, heard)
    flight.reserve(wave)
    for at in range(0, len(order), wave):
        _Wave(engine, flight, order[at : at + wave], prompts).all()
    return [flight.results[i] for i in range(len(requests))]


class _Wave:
    """Rows that are prefilled together and then decoded together."""

    def __init__(self, engine: AdapterEngine, flight: SamplingCall, rows: np.ndarray, prompts: Sequence[Ids]) -> None:
        self.engine, self.flight, self.rows = engine, flight, rows
        self.prompts = [prompts[i] for i in rows]

    def all(self) -> None:
        flight = self.flight
        flight.begin(0, self.rows, np.array([len(prompt) for prompt in self.prompts]))
        logits = self._prefill()
        active = len(self.rows)
        while True:
            freed = flight.settle(np.arange(active), logits)
            active = self._leave(freed, active)
            if not active:
                return
            logits = self._step(active)

    def _prefill(self) -> Tensor:
        """Run the prompts; the logits [n, V] of each row's first new token."""
        which, first = distinct(self.prompts)
        ids, mask = rectangle([self.prompts[i] for i in first], left=True)
        self.engine.prefilled += int(mask.sum())
        positions = np.maximum(mask.cumsum(1) - 1, 0)
        answer = self._run(ids, mask, positions, cache=None)
        where = torch.from_numpy(which).to(self.engine.device)
        self.mask = mask[which]
        self.cache = answer.past_key_values
        if len(first) < len(which) or (which != np.arange(len(which))).any():
            self.cache.batch_select_indices(where)
        return self._last(answer).index_select(0, where)

    def _step(self, active: int) -> Tensor:
        """Feed each row the token that it drew last; the logits [n, V] of its next token."""
        state = self.flight.rows
        self.mask = np.concatenate([self.mask, np.ones((active, 1), np.int64)], 1)
        ids, positions = state.token[:active, None], state.position[:active, None]
        answer = self._run(ids, self.mask, positions, cache=self.cache)
        state.position[:active] += 1
        return self._last(answer)

    def _last(self, answer: Any) -> Tensor:
        return answer.logits[:, -1, : self.engine.vocab].to(self.engine.wide)

    def _run(self, ids: np.ndarray, mask: np.ndarray, positions: np.ndarray, *, cache: Any) -> Any:
        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(self.engine.device)

        more = {"past_key_values": cache, "use_cache": True, "logits_to_keep": 1}
        given: Tensor | None = tensor(ids)
        if (ids < 0).any():
            given, more["inputs_embeds"] = None, self.engine.seen(tensor(ids), tensor(mask))
        return self.engine.run(given, tensor(mask), tensor(positions), **more)

    def _leave(self, freed: np.ndarray, active: int) -> int:
        """Drop the finished rows `freed` and close the gaps, in order. Returns how many rows stay."""
        if not len(freed):
            return active
        stays = np.setdiff1d(np.arange(active), freed)
        if len(stays):
            self.flight.rows.move(stays, np.arange(len(stays)))
            self.mask = self.mask[stays]
            self.cache.batch_select_indices(torch.from_numpy(stays).to(self.engine.device))
        return len(stays)
