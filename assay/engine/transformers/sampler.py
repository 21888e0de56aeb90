"""Sampling with a network of `transformers`: rows padded on the left, in waves, over the network's own cache.

Each distinct prompt of a wave is run once and its part of the cache is repeated for its rows; rows that are finished
leave. Tokens are drawn as everywhere (`assay.engine.sampling_call`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from assay.engine.interface import Generation
from assay.engine.layout import distinct
from assay.engine.sampling_call import Limits, SamplingCall, check, prompt_of
from assay.engine.transformers.padded import rectangle
from assay.rng import Key
from assay.types import Ids, Request

if TYPE_CHECKING:
    from assay.engine.transformers.engine import AdapterEngine

MOST_ROWS = 256


def row_bytes(engine: AdapterEngine, length: int) -> int:
    """Bytes of keys and values of one row, if each layer holds all of it."""
    c = engine.model.config
    return 2 * c.layers * c.kv_heads * c.head_dim * length * engine.compute.itemsize


@torch.inference_mode()
def generate(engine: AdapterEngine, requests: Sequence[Request], key: Key, *, limits: Limits) -> list[Generation]:
    """One generation a request, in the order of the requests."""
    check(requests, limits)
    if not requests:
        return []
    prompts = [prompt_of(request) for request in requests]
    which, _ = distinct(prompts)
    lengths = np.array([len(prompt) for prompt in prompts])
    order = np.lexsort((which, lengths))  # rows of one prompt together, prompts of similar length together
    longest = max(len(prompt) + request.max_new for prompt, request in zip(prompts, requests))
    wave = min(MOST_ROWS, max(1, limits.memory_bytes // row_bytes(engine, longest)))
    flight = SamplingCall(requests, key, limits, engine.version, engine.vocab, engine.wide)
    flight.reserve(wave)
    for at in range(0, len(order), wave):
        _Wave(engine, flight, order[at : at + wave], prompts).all()
    return [flight.results[i] for i in range(len(requests))]


class _Wave:
    """Rows that begin together."""

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
        """Logits [n, V] after the prompts."""
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
        """Logits [n, V] after one more token of each row."""
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
        return self.engine.run(tensor(ids), tensor(mask), tensor(positions), **more)

    def _leave(self, freed: np.ndarray, active: int) -> int:
        """Rows that are finished go; those that stay close up in their order."""
        if not len(freed):
            return active
        stays = np.setdiff1d(np.arange(active), freed)
        if len(stays):
            self.flight.rows.move(stays, np.arange(len(stays)))
            self.mask = self.mask[stays]
            self.cache.batch_select_indices(torch.from_numpy(stays).to(self.engine.device))
        return len(stays)
