"""Sampling by continuous batching: a row leaves when it is finished and a new one enters, so no step feeds dead rows.

Each distinct prompt is run once, and its keys and values are copied into the slots
of the rows that continue it. A beginning that several prompts of a prefill share is run
once for all of them. A prefix that the prefix cache knows is not run. Only its last token
is run again, because a row needs that token's hidden state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from assay.engine import footprint
from assay.engine.footprint import PREFILL_TOKENS
from assay.engine.interface import Done, Generation, Heard
from assay.engine.layout import hosted, offsets, stems
from assay.engine.prefix_cache import PrefixCache
from assay.engine.sampling_call import Limits, SamplingCall, check, prompt_of
from assay.engine.torch.decode import Decoder
from assay.engine.torch.graphs import DecodeStep, stepper
from assay.engine.torch.network import Network
from assay.engine.torch.packing import Onward, pack_onward
from assay.rng import Key
from assay.types import Request

Caches = list[tuple[Tensor, Tensor]]
"""Keys and values [N, kv_heads, d] of each layer."""


@dataclass(eq=False)
class _Prefilled:
    """Prompts that were run: their keys and values, and the hidden states from which rows draw their first tokens."""

    prompts: list[int]
    where: list[np.ndarray]  # for each prompt, which of the N tokens of `cache` are its tokens
    ends: list[dict[int, int]]  # for each prompt: length of the part that a row continues -> index into `hidden`
    cache: Caches
    hidden: Tensor

    def alone(self, j: int) -> _Prefilled:
        """Prompt number j alone."""
        where = torch.from_numpy(self.where[j]).to(self.hidden.device)
        ends = torch.tensor(list(self.ends[j].values()), device=self.hidden.device)
        cache = [(k[where], v[where]) for k, v in self.cache]
        places = {size: i for i, size in enumerate(self.ends[j])}
        return _Prefilled([self.prompts[j]], [np.arange(len(where))], [places], cache, self.hidden[ends])

    def joined(self, more: _Prefilled) -> _Prefilled:
        """These prompts and then those of `more`."""
        tokens, ends = len(self.cache[0][0]), len(self.hidden)
        return _Prefilled(
            self.prompts + more.prompts,
            self.where + [where + tokens for where in more.where],
            self.ends + [{size: i + ends for size, i in some.items()} for some in more.ends],
            [(torch.cat([a, k]), torch.cat([b, v])) for (a, b), (k, v) in zip(self.cache, more.cache)],
            torch.cat([self.hidden, more.hidden]),
        )


def row_bytes(network: Network, length: int) -> int:
    return footprint.row_bytes(network.config, length, network.dtype.itemsize)


def slots_for(network: Network, length: int, count: int, memory_bytes: int) -> int:
    """How many rows this network has in flight."""
    size, cuda = network.dtype.itemsize, network.device.type == "cuda"
    return footprint.slots(
        network.config, length=length, count=count, memory_bytes=memory_bytes, itemsize=size, cuda=cuda
    )


class Slots(Protocol):
    """The key-value caches of the rows in flight, as `Decoder` has them."""

    def admit(self, slot: int, index: np.ndarray, prefilled: Caches) -> None: ...
    def move(self, source: np.ndarray, target: np.ndarray, tokens: int) -> None: ...
    def held(self, slot: int, low: int, high: int) -> Tensor: ...


class Voice(Protocol):
    """The source of the probabilities of next tokens: one network, or several whose logits are combined."""

    @property
    def vocab(self) -> int: ...
    @property
    def dtype(self) -> torch.dtype: ...
    @property
    def device(self) -> torch.device: ...

    def slots(self, length: int, count: int, memory_bytes: int) -> int:
        """How many rows it has in flight."""
        ...

    def decoding(self, slots: int, length: int) -> tuple[Slots, DecodeStep]:
        """Caches for so many rows of so many tokens, and the step that feeds them."""
        ...

    def prefill(self, onward: Onward, known: Caches) -> tuple[Tensor, Caches]:
        """The hidden states [N, D] of prompts, and their keys and values; `known` are those of cached prefixes."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """[n, V] for these hidden states."""
        ...


@dataclass(frozen=True, eq=False)
class Alone:
    """One network."""

    network: Network

    @property
    def vocab(self) -> int:
        return self.network.vocab

    @property
    def dtype(self) -> torch.dtype:
        return self.network.dtype

    @property
    def device(self) -> torch.device:
        return self.network.device

    def slots(self, length: int, count: int, memory_bytes: int) -> int:
        return slots_for(self.network, length, count, memory_bytes)

    def decoding(self, slots: int, length: int) -> tuple[Decoder, DecodeStep]:
        decoder = Decoder(self.network, slots=slots, length=length)
        return decoder, stepper(decoder)

    def prefill(self, onward: Onward, known: Caches) -> tuple[Tensor, Caches]:
        c, cache = self.network.config, []
        packed = pack_onward(onward, heads=c.heads, kv_heads=c.kv_heads, device=self.device)
        if not known:
            return self.network.forward(packed, cache=cache)[0], cache
        hidden, _ = self.network.forward(packed, cache=cache, known=known)
        return hidden, [(torch.cat([k, a]), torch.cat([v, b])) for (k, v), (a, b) in zip(cache, known)]

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden @ self.network.head.t()


@torch.inference_mode()
def generate(
    voice: Voice,
    requests: Sequence[Request],
    key: Key,
    *,
    limits: Limits,
    version: int,
    kept: PrefixCache[Tensor],
    done: Done | None = None,
    heard: Heard | None = None,
) -> tuple[list[Generation], int]:
    """(one generation for each request, in the order of the requests; how many prompt tokens were run).

    `done` is told of each generation when it is complete, and `heard` of each token when it is drawn.

    The rows' key-value cache lives as long as the call. The prefix cache `kept`
    outlives it; its rows are keys and values [layers, 2, tokens, kv_heads, d].
    """
    check(requests, limits)
    if not requests:
        return [], 0
    wide = torch.promote_types(voice.dtype, torch.float32)
    run = _Run(voice, SamplingCall(requests, key, limits, version, voice.vocab, wide, done, heard), kept)
    made, prefilled = run.all(), run.prefilled
    if voice.device.type == "cuda":
        del run  # frees the cache and the CUDA graphs, so that the learner can use their memory
        torch.cuda.empty_cache()
    return made, prefilled


@dataclass(eq=False)
class _Run:
    """One call of the sampler: requests wait in `queue`, and the rows in flight have the slots 0 .. active - 1."""

    voice: Voice
    flight: SamplingCall
    kept: PrefixCache[Tensor]
    active: int = 0
    prefilled: int = 0

    def __post_init__(self) -> None:
        flight, requests = self.flight, self.flight.requests
        prompts = [prompt_of(r) for r in requests]
        self.which, first = hosted(prompts)
        self.prompts = [prompts[i] for i in first]
        self.queue = np.argsort(self.which, kind="stable")
        self.next = 0
        self.size = np.array([len(p) for p in prompts])
        self.begins: list[set[int]] = [set() for _ in first]
        for prompt, size in zip(self.which, self.size):
            self.begins[prompt].add(int(size))
        for prompt in self.prompts:
            self.kept.known(prompt)  # marks the prompt's runs as used, so that `make_room` drops others first
        self.kept.make_room(sum(map(len, self.prompts)) + int(flight.limit.sum()))
        length = int((self.size + flight.limit).max())
        self.slots = self.voice.slots(length, len(requests), flight.limits.memory_bytes)
        self.decoder, self.step = self.voice.decoding(self.slots, length)
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
        """Admit the next rows of the queue, with as many new prompts as one prefill takes."""
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
        position = {prompt: j for j, prompt in enumerate(ready.prompts)}
        local, size = [position[int(self.which[i])] for i in rows], self.size[rows]
        index = np.zeros((taken, int(size.max())), np.int64)
        for i, j in enumerate(local):
            index[i, : size[i]] = ready.where[j][: size[i]]
        low, high = self.active, self.active + taken
        self.decoder.admit(low, index, ready.cache)
        self.flight.begin(low, rows, size)
        self.active = high
        ends, own = np.unique([ready.ends[j][int(n)] for j, n in zip(local, size)], return_inverse=True)
        logits = self._logits(ready.hidden[torch.from_numpy(ends).to(ready.hidden.device)])
        self._settle(np.arange(low, high), logits[torch.from_numpy(own).to(logits.device)])
        self._keep_last(ready)

    def _keep_last(self, ready: _Prefilled) -> None:
        """Keep the last prompt if some of its rows still wait, so that it is not run again."""
        self.carry = None
        if self.next < len(self.queue):
            prompt = int(self.which[self.queue[self.next]])
            if prompt in ready.prompts:
                self.carry = ready.alone(ready.prompts.index(prompt))

    def _prefill(self, prompts: list[int]) -> _Prefilled:
        if not prompts:
            assert self.carry is not None
            return self.carry
        ready = self._computed(prompts)
        return ready if self.carry is None else self.carry.joined(ready)

    def _computed(self, prompts: list[int]) -> _Prefilled:
        """Run the tokens of prompts that the prefix cache lacks. Tokens of the cache and of stems are run again where
        their hidden states are needed. Only a prompt with nothing in the cache may have a stem.
        """
        pieces = [self.kept.known(self.prompts[i]) for i in prompts]
        cached = np.array([sum(piece.count for piece in some) for some in pieces])
        known_at, total = offsets(cached)[:-1], int(cached.sum())
        new, stem = np.flatnonzero(cached == 0), np.full(len(prompts), -1)
        stem[new], beginnings = stems([self.prompts[prompts[j]] for j in new])
        begun = cached + np.array([*map(len, beginnings), 0])[stem]  # tokens that come from the cache or from a stem
        texts, count = [*(self.prompts[i] for i in prompts), *beginnings], len(prompts)
        stretches = [(count + k, 0, len(ids)) for k, ids in enumerate(beginnings)]
        stretches += [(j, int(begun[j]), len(texts[j])) for j in range(count) if begun[j] < len(texts[j])]
        for j, i in enumerate(prompts):
            stretches += [(j, size - 1, size) for size in sorted(self.begins[i]) if size <= begun[j]]
        which, lows, highs = np.array(stretches).T
        at = offsets(highs - lows)
        ids = np.concatenate([texts[j][low:high] for j, low, high in stretches]).astype(np.int64)
        behind = np.append(stem, np.full(len(beginnings), -1))[which]  # the stem of each stretch
        onward = Onward(
            ids,
            highs - lows,
            known_at=np.append(known_at, np.zeros(len(beginnings), np.int64))[which],
            known=np.where(behind < 0, lows, 0),
            total=total,
            stem_at=at[behind],
            stem=np.where(behind < 0, 0, lows),
        )
        parts = [p.rows[:, :, p.skip : p.skip + p.count] for some in pieces for p in some]
        hidden, cache = self.voice.prefill(onward, [(k, v) for k, v in torch.cat(parts, 2)] if total else [])
        self.prefilled += len(ids)
        first = np.where(stem < 0, len(ids) + known_at, at[stem])
        where = [first[j] + np.arange(begun[j]) for j in range(count)]
        ends: list[dict[int, int]] = [{} for _ in prompts]
        for (j, low, high), begin in zip(stretches[len(beginnings) :], at[len(beginnings) :]):
            if low == begun[j]:
                where[j] = np.concatenate([where[j], begin + np.arange(high - low)])
                self._keep_prompt(prompts[j], int(cached[j]), cache, where[j][cached[j] :])
            ends[j] |= {size: int(begin) + size - 1 - low for size in self.begins[prompts[j]] if low < size <= high}
        return _Prefilled(prompts, where, ends, cache, hidden)

    def _keep_prompt(self, prompt: int, low: int, cache: Caches, where: np.ndarray) -> None:
        """Put a prompt's tokens from `low` on into the prefix cache; `where` their keys and values are in `cache`."""
        if self.kept.most:
            index = torch.from_numpy(where).to(self.voice.device)
            rows = torch.stack([torch.stack((k[index], v[index])) for k, v in cache])
            self.kept.add(self.prompts[prompt], low, rows)

    def _keep_answer(self, slot: int) -> None:
        """Put the answer of a finished row into the prefix cache, with the keys and values of its slot."""
        i, position = self.rows.who[slot], int(self.rows.position[slot])
        size = int(self.size[i])
        if position > size:
            ids = np.concatenate([self.prompts[self.which[i]][:size], self.rows.ids[slot, : position - size]])
            self.kept.add(ids, size, self.decoder.held(slot, size, position))

    def _logits(self, hidden: Tensor) -> Tensor:
        return self.voice.logits(hidden).to(self.flight.wide)

    def _step(self) -> None:
        """Feed one token to every row in flight, and draw its next token."""
        n, state = self.active, self.rows
        position = state.position[:n]
        device = self.voice.device
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
        """Draw a token for each of these slots, and free the slots of finished rows."""
        freed = self.flight.settle(slots, logits)
        if self.kept.most:
            for slot in freed:
                self._keep_answer(int(slot))
        if len(freed):
            self._compact(freed)

    def _compact(self, freed: np.ndarray) -> None:
        """Move the last rows in flight into the freed slots."""
        left = self.active - len(freed)
        gone = np.zeros(self.active, bool)
        gone[freed] = True
        source = np.flatnonzero(~gone[left:]) + left
        target = np.flatnonzero(gone[:left])
        if len(source):
            self.decoder.move(source, target, int(self.rows.position[source].max()))
            self.rows.move(source, target)
        self.active = left
