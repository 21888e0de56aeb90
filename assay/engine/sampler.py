"""Sampling with rows that enter and leave: cost follows the tokens that are really written.

Each distinct prompt is run once and its keys and values are copied into the slots of the rows that start from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.engine import memory
from assay.engine.decode import Decoder
from assay.engine.flight import Flight, Limits, check, prompt_of
from assay.engine.graphs import stepper
from assay.engine.interface import Generation
from assay.engine.layout import hosted, lay
from assay.engine.memory import PREFILL_TOKENS
from assay.engine.network import Network
from assay.engine.packing import pack
from assay.rng import Key
from assay.types import Request


@dataclass(eq=False)
class _Prefilled:
    """Keys and values [N, kv_heads, d] a layer, and last hidden states [N, D], of prompts end to end."""

    prompts: list[int]
    at: np.ndarray
    cache: list[tuple[Tensor, Tensor]]
    hidden: Tensor


def row_bytes(network: Network, length: int) -> int:
    return memory.row_bytes(network.config, length, network.dtype.itemsize)


def slots_for(network: Network, length: int, count: int, memory_bytes: int) -> int:
    """Rows in flight of this network."""
    size, cuda = network.dtype.itemsize, network.device.type == "cuda"
    return memory.slots(network.config, length=length, count=count, memory_bytes=memory_bytes, itemsize=size, cuda=cuda)


@torch.inference_mode()
def generate(
    network: Network, requests: Sequence[Request], key: Key, *, limits: Limits, version: int
) -> list[Generation]:
    """One generation a request, in the order of the requests. The cache of keys and values ends with the call."""
    check(requests, limits)
    if not requests:
        return []
    wide = torch.promote_types(network.dtype, torch.float32)
    made = _Run(network, Flight(requests, key, limits, version, network.config.vocab, wide)).all()
    if network.device.type == "cuda":
        torch.cuda.empty_cache()  # what graphs took from a pool of their own is the learner's now
    return made


@dataclass(eq=False)
class _Run:
    network: Network
    flight: Flight
    active: int = 0

    def __post_init__(self) -> None:
        flight, requests = self.flight, self.flight.requests
        prompts = [prompt_of(r) for r in requests]
        self.which, first = hosted(prompts)
        self.prompts = [prompts[i] for i in first]
        self.queue = np.argsort(self.which, kind="stable")
        self.next = 0
        self.size = np.array([len(p) for p in prompts])
        length = int((self.size + flight.limit).max())
        self.slots = slots_for(self.network, length, len(requests), flight.limits.memory_bytes)
        self.decoder = Decoder(self.network, slots=self.slots, length=length)
        self.step = stepper(self.decoder)
        flight.reserve(self.slots)
        self.rows = flight.rows
        self.carry: _Prefilled | None = None

    def all(self) -> list[Generation]:
        while self.active or self.next < len(self.queue):
            free = self.slots - self.active
            if self.next < len(self.queue) and (self.active == 0 or free >= max(1, self.slots // 4)):
                while self.next < len(self.queue) and self.active < self.slots:
                    self._admit()
                continue
            self._step()
        return [self.flight.results[i] for i in range(len(self.flight.requests))]

    def _admit(self) -> None:
        """Start the next rows of the queue, with as many new prompts as one prefill takes."""
        queue = self.queue[self.next : self.next + self.slots - self.active]
        held = set(self.carry.prompts) if self.carry else set()
        new: list[int] = []
        tokens = taken = 0
        for i in queue:
            prompt = int(self.which[i])
            if prompt not in held and prompt not in new:
                tokens += len(self.prompts[prompt])
                if new and tokens > PREFILL_TOKENS:
                    break
                new.append(prompt)
            taken += 1
        ready = self._prefill(new)
        rows = queue[:taken]
        self.next += taken
        place = {prompt: j for j, prompt in enumerate(ready.prompts)}
        local = np.array([place[int(self.which[i])] for i in rows])
        start, size = ready.at[local], self.size[rows]
        column = np.arange(int(size.max()))
        index = np.where(column < size[:, None], start[:, None] + column, 0)
        low, high = self.active, self.active + taken
        self.decoder.admit(low, index, ready.cache)
        self.flight.begin(low, rows, size)
        self.active = high
        ends, own = np.unique(start + size - 1, return_inverse=True)
        logits = self._logits(ready.hidden[torch.from_numpy(ends).to(ready.hidden.device)])
        self._settle(np.arange(low, high), logits[torch.from_numpy(own).to(logits.device)])
        self._keep_last(ready)

    def _keep_last(self, ready: _Prefilled) -> None:
        """A prompt whose rows did not all start is not run again."""
        self.carry = None
        if self.next < len(self.queue):
            prompt = int(self.which[self.queue[self.next]])
            if prompt in ready.prompts:
                j = ready.prompts.index(prompt)
                cut = slice(int(ready.at[j]), int(ready.at[j + 1]))
                cache = [(k[cut], v[cut]) for k, v in ready.cache]
                self.carry = _Prefilled([prompt], np.array([0, cut.stop - cut.start]), cache, ready.hidden[cut])

    def _prefill(self, prompts: list[int]) -> _Prefilled:
        if not prompts:
            assert self.carry is not None
            return self.carry
        c = self.network.config
        layout = lay([self.prompts[i] for i in prompts])
        device, flash = self.decoder.device, self.network.flash
        packed = pack(layout, heads=c.heads, kv_heads=c.kv_heads, device=device, flash=flash)
        cache: list[tuple[Tensor, Tensor]] = []
        hidden, _ = self.network.forward(packed, cache=cache)
        ready = _Prefilled(prompts, layout.context_at, cache, hidden)
        if self.carry is None:
            return ready
        old = self.carry
        return _Prefilled(
            old.prompts + prompts,
            np.concatenate([old.at[:-1], old.at[-1] + ready.at]),
            [(torch.cat([a, k]), torch.cat([b, v])) for (a, b), (k, v) in zip(old.cache, cache)],
            torch.cat([old.hidden, ready.hidden]),
        )

    def _logits(self, hidden: Tensor) -> Tensor:
        return (hidden @ self.network.head.t()).to(self.flight.wide)

    def _step(self) -> None:
        """Feed one token to every row in flight and draw the next."""
        n, state = self.active, self.rows
        position = state.position[:n]
        device = self.decoder.device
        top = int(position.max())
        hidden = self.step(
            torch.from_numpy(state.token[:n]).to(device),
            torch.from_numpy(position).to(device),
            top + 1,
            int(position.min()) == top,
        )
        state.position[:n] += 1
        self._settle(np.arange(n), self._logits(hidden))

    def _settle(self, slots: np.ndarray, logits: Tensor) -> None:
        """Draw a token for each of these slots, and let finished rows go."""
        freed = self.flight.settle(slots, logits)
        if len(freed):
            self._compact(freed)

    def _compact(self, freed: np.ndarray) -> None:
        """Fill the freed slots with the last rows in flight."""
        left = self.active - len(freed)
        gone = np.zeros(self.active, bool)
        gone[freed] = True
        source = np.flatnonzero(~gone[left:]) + left
        target = np.flatnonzero(gone[:left])
        if len(source):
            self.decoder.move(source, target, int(self.rows.position[source].max()))
            self.rows.move(source, target)
        self.active = left
