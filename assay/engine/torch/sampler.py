"""Sampling by continuous batching: a row leaves when it is finished and a new one enters, so no step feeds dead rows.

Each distinct prompt is run once (`prompts`), and its keys and values are copied into the slots of the rows that
continue it. The device draws and ends rows (`flight`); the host looks, fills free slots and moves rows together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from assay.engine.interface import Done, Generation, Heard
from assay.engine.prefix_cache import PrefixCache
from assay.engine.sampling_call import Limits, check, prompt_of
from assay.engine.torch.deck import Shelf
from assay.engine.torch.decode import Need
from assay.engine.torch.flight import Flight
from assay.engine.torch.prompts import Prompts
from assay.engine.torch.voices import Voice, wide_of
from assay.rng import Key
from assay.types import Request


@torch.inference_mode()
def generate(
    voice: Voice,
    requests: Sequence[Request],
    key: Key,
    *,
    limits: Limits,
    version: int,
    kept: PrefixCache[Tensor],
    shelf: Shelf,
    done: Done | None = None,
    heard: Heard | None = None,
) -> tuple[list[Generation], int]:
    """(one generation for each request, in the order of the requests; how many prompt tokens were run).

    `done` is told of each generation when it is complete, and `heard` of each token when it is drawn.

    The rows' key-value cache lives as long as the call, unless it stays on the shelf. The prefix cache `kept` outlives
    the call; its rows are keys and values [layers, 2, tokens, kv_heads, d].
    """
    check(requests, limits)
    if not requests:
        return [], 0
    run = _Run(voice, Flight(requests, key, limits, version, voice.vocab, wide_of(voice), done, heard), kept, shelf)
    made, ran = run.all(), run.prompts.ran
    shelf.give(run.deck)
    del run  # with it go the cache and the recorded steps that do not stay, and the learner can use their memory
    shelf.tidy(voice.device)
    return made, ran


@dataclass(eq=False)
class _Run:
    """One call of the sampler: requests wait in a queue, and the rows in flight have the slots 0 .. active - 1."""

    voice: Voice
    flight: Flight
    kept: PrefixCache[Tensor]
    shelf: Shelf
    active: int = 0
    next: int = 0  # of the queue

    def __post_init__(self) -> None:
        flight = self.flight
        contexts = [prompt_of(request) for request in flight.requests]
        self.prompts = Prompts(self.voice, self.kept, contexts, int(flight.limit.sum()))
        self.queue = self.prompts.queue
        size, limit = self.prompts.size, flight.limit
        most = Need(0, int((size + limit).max()), int(limit.max()), self.prompts.beginnings, int(size.max()))
        self.slots = self.voice.slots(most, len(contexts), flight.limits.memory_bytes)
        need = replace(most, slots=self.slots)
        self.deck = self.shelf.take(self.voice, need)
        self.deck.open(flight, self.slots)

    def all(self) -> list[Generation]:
        while self.active or self.next < len(self.queue):
            free = self.slots - self.active
            if self.next < len(self.queue) and (self.active == 0 or free >= max(1, self.slots // 4)):
                while self.next < len(self.queue) and self.active < self.slots:
                    self._admit()
            elif self.flight.wants(self.active):
                self._step()
            else:
                self._look(behind=0)
        return self.flight.in_order()

    def _admit(self) -> None:
        """Admit the next rows of the queue, with as many new prompts as one prefill takes."""
        queue = self.queue[self.next : self.next + self.slots - self.active]
        taken, ready = self.prompts.next(queue)
        rows, low = queue[:taken], self.active
        self.next += taken
        size = self.prompts.size[rows]
        begun, hidden, own = ready.begun(self.prompts.which[rows], size)
        self.deck.cache.admit(low, begun, ready.cache)
        self.flight.begin(low, rows, size)
        self.active = low + taken
        self.deck.settle(low, self.voice.logits(hidden)[own], self.flight.needs)
        self.prompts.keep_last(ready, self.queue[self.next :])
        self._went()

    def _step(self) -> None:
        """Feed one token to every row in flight, and draw its next token."""
        columns = self.deck.cache.columns(self.flight.positions(self.active))
        longest = int(columns.max()) + 1
        level = not self.flight.ahead and int(columns.min()) + 1 == longest
        self.deck.step(self.active, longest, self.flight.needs, level=level)
        self._went()

    def _went(self) -> None:
        self.flight.ticks += 1
        if self.flight.ticks == self.deck.pace.stride:
            self._look(behind=self.deck.pace.behind)

    def _look(self, *, behind: int) -> None:
        """Look, and free the slots of finished rows."""
        freed = self.flight.look(behind)
        if self.kept.most:
            for slot in freed:
                self._keep_answer(int(slot))
        if len(freed):
            self._compact(freed)

    def _keep_answer(self, slot: int) -> None:
        """Put the answer of a finished row into the prefix cache, with the keys and values of its slot."""
        rows, fed = self.flight.rows, int(self.flight.rows.done[slot]) - 1
        if fed:
            size = int(self.flight.size[slot])
            held = self.deck.cache.held(slot, size, size + fed)
            self.prompts.keep_answer(int(rows.who[slot]), rows.ids[slot, :fed], held)

    def _compact(self, freed: np.ndarray) -> None:
        """Move the last rows in flight into the freed slots."""
        left = self.active - len(freed)
        gone = np.zeros(self.active, bool)
        gone[freed] = True
        source = np.flatnonzero(~gone[left:]) + left
        target = np.flatnonzero(gone[:left])
        if len(source):
            columns = self.deck.cache.columns(self.flight.positions(self.active))
            self.deck.cache.move(source, target, int(columns[source].max()))
            self.flight.move(source, target)
        self.deck.cache.leave(left)
        self.deck.board.clear(left, self.active)
        self.active = left
