"""Sampling with rows that enter and leave: cost follows the tokens that are really written.

Each distinct prompt is run once and its keys and values are copied into the slots of the rows that start from it. Token
t of an answer uses entry t of its own request's random numbers, whatever else is in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from assay.engine import memory
from assay.engine.decode import Decoder
from assay.engine.filtering import Drawn, Filters, draw
from assay.engine.interface import Generation
from assay.engine.layout import hosted, lay
from assay.engine.memory import PREFILL_TOKENS
from assay.engine.network import Network
from assay.engine.packing import pack
from assay.errors import AssayError, ConfigError, DataError
from assay.rng import Key, uniforms
from assay.types import Finish, Ids, Origin, Request, Segment

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Limits:
    """What a call may use, and what ends a row."""

    context: int
    end_ids: frozenset[int]
    memory_bytes: int
    decode: Decode | None = None


@dataclass(eq=False)
class _Prefilled:
    """Keys and values [N, kv_heads, d] a layer, and last hidden states [N, D], of prompts end to end."""

    prompts: list[int]
    at: np.ndarray
    cache: list[tuple[Tensor, Tensor]]
    hidden: Tensor


def check(requests: Sequence[Request], limits: Limits) -> None:
    """Refuse what cannot work before any work is done."""
    seen: set[str] = set()
    for request in requests:
        if request.max_new < 1:
            raise DataError(f"request {request.id} asks for max_new={request.max_new} tokens; at least 1 is needed")
        if len(request.context) == 0:
            raise DataError(f"request {request.id} has an empty context; give it at least one token")
        size = len(prompt_of(request))
        if size + request.max_new > limits.context:
            raise DataError(
                f"request {request.id}: {size} prompt tokens and max_new={request.max_new} exceed the model's context "
                f"of {limits.context}; shorten the prompt or lower max_new to {max(limits.context - size, 0)}"
            )
        if request.temperature < 0 or not 0 < request.top_p <= 1 or request.top_k < 0 or not 0 <= request.min_p <= 1:
            raise ConfigError(
                f"request {request.id}: expected temperature >= 0, 0 < top_p <= 1, top_k >= 0, 0 <= min_p <= 1; got "
                f"{request.temperature}, {request.top_p}, {request.top_k}, {request.min_p}"
            )
        if request.stop and limits.decode is None:
            raise ConfigError("a request has stop strings, but the engine was built without `decode`")
        if request.id in seen:
            raise DataError(f"two requests have the id {request.id}: give them different `draw` or `sample` numbers")
        seen.add(request.id)


def diverged(request: str, token: int) -> AssayError:
    return AssayError(
        f"the policy gave logits that are not finite for request {request} at answer token {token}: its weights have "
        "most likely diverged; resume from an earlier checkpoint with a lower learning rate"
    )


def stops(request: Request, ids: Ids, decode: Decode | None) -> bool:
    """A stop string ends in the last token. A character may take several tokens: four bytes and some to spare."""
    assert decode is not None
    tail = ids[-(4 * max(len(s) for s in request.stop) + 8) :]
    text = decode(tail.tolist())
    return any(s in text for s in request.stop)


def prompt_of(request: Request) -> Ids:
    """What the row continues: its context and the tokens of the answer that exist already."""
    parts = [request.context, *(segment.ids for segment in request.prefix)]
    return np.concatenate(parts) if len(parts) > 1 else request.context


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
    """One generation a request, in the order of the requests."""
    check(requests, limits)
    if not requests:
        return []
    return _Run(network, requests, key, limits, version).all()


@dataclass(eq=False)
class _Rows:
    """State of the rows in flight, by slot."""

    who: np.ndarray  # index of the request
    done: np.ndarray  # tokens written
    position: np.ndarray  # of the token to be fed next
    token: np.ndarray  # the token to be fed next
    u: np.ndarray
    ids: np.ndarray
    old: np.ndarray
    mu: np.ndarray
    entropy: np.ndarray

    @classmethod
    def empty(cls, slots: int, width: int) -> _Rows:
        def integers() -> np.ndarray:
            return np.zeros(slots, np.int64)

        def stream(kind: type) -> np.ndarray:
            return np.zeros((slots, width), kind)

        return cls(
            who=integers(),
            done=integers(),
            position=integers(),
            token=integers(),
            u=stream(np.float64),
            ids=stream(np.int32),
            old=stream(np.float32),
            mu=stream(np.float32),
            entropy=stream(np.float32),
        )

    def move(self, source: np.ndarray, target: np.ndarray) -> None:
        for array in vars(self).values():
            array[target] = array[source]


@dataclass(eq=False)
class _Run:
    network: Network
    requests: Sequence[Request]
    key: Key
    limits: Limits
    version: int
    active: int = 0
    results: dict[int, Generation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        requests = self.requests
        prompts = [prompt_of(r) for r in requests]
        self.which, first = hosted(prompts)
        self.prompts = [prompts[i] for i in first]
        self.queue = np.argsort(self.which, kind="stable")
        self.next = 0
        self.size = np.array([len(p) for p in prompts])
        self.limit = np.array([r.max_new for r in requests])
        self.before = np.array([r.given for r in requests])
        length = int((self.size + self.limit).max())
        self.slots = slots_for(self.network, length, len(requests), self.limits.memory_bytes)
        self.decoder = Decoder(self.network, slots=self.slots, length=length)
        self.rows = _Rows.empty(self.slots, int(self.limit.max()))
        self.carry: _Prefilled | None = None
        vocab = self.network.config.vocab
        self.ends = np.zeros(vocab, bool)
        self.ends[[i for i in self.limits.end_ids if 0 <= i < vocab]] = True
        self.sampling = _Sampling.of(requests, vocab)
        self.filters = Filters()
        self.wide = torch.promote_types(self.decoder.dtype, torch.float32)

    def all(self) -> list[Generation]:
        while self.active or self.next < len(self.queue):
            free = self.slots - self.active
            if self.next < len(self.queue) and (self.active == 0 or free >= max(1, self.slots // 4)):
                while self.next < len(self.queue) and self.active < self.slots:
                    self._admit()
                continue
            self._step()
        return [self.results[i] for i in range(len(self.requests))]

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
        state = self.rows
        state.who[low:high] = rows
        state.done[low:high] = 0
        state.position[low:high] = size
        self._noise(low, rows)
        self.active = high
        ends, own = np.unique(start + size - 1, return_inverse=True)
        logits = self._logits(ready.hidden[torch.from_numpy(ends).to(ready.hidden.device)])
        self._settle(np.arange(low, high), logits[torch.from_numpy(own).to(logits.device)])
        self._keep_last(ready)

    def _noise(self, low: int, rows: np.ndarray) -> None:
        before, limit = self.before[rows], self.limit[rows]
        keys = [self.key(self.requests[i].id) for i in rows]
        noise = uniforms(keys, int((before + limit).max()))
        width = int(limit.max())
        column = np.minimum(before[:, None] + np.arange(width), noise.shape[1] - 1)
        self.rows.u[low : low + len(rows), :width] = np.take_along_axis(noise, column, 1)

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
        packed = pack(layout, heads=c.heads, kv_heads=c.kv_heads, device=self.decoder.device)
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
        return (hidden @ self.network.head.t()).to(self.wide)

    def _step(self) -> None:
        """Feed one token to every row in flight and draw the next."""
        n, state = self.active, self.rows
        position = state.position[:n]
        device = self.decoder.device
        top = int(position.max())
        hidden = self.decoder.step(
            torch.from_numpy(state.token[:n]).to(device),
            torch.from_numpy(position).to(device),
            top + 1,
            int(position.min()) == top,
        )
        state.position[:n] += 1
        self._settle(np.arange(n), self._logits(hidden))

    def _settle(self, slots: np.ndarray, logits: Tensor) -> None:
        """Draw a token for each of these slots, write it down, and let finished rows go."""
        state = self.rows
        who, done = state.who[slots], state.done[slots]
        u = torch.from_numpy(state.u[slots, done]).to(logits.device)
        drawn = draw(logits, u, self.sampling.filters(who, logits.device, self.wide))
        token = self._record(slots, who, done, drawn)
        done = done + 1
        state.done[slots] = done
        state.token[slots] = token
        stop = self.ends[token]
        if self.sampling.stops is not None:
            for j in np.flatnonzero(self.sampling.stops[who] & ~stop):
                stop[j] = stops(self.requests[who[j]], state.ids[slots[j], : done[j]], self.limits.decode)
        over = stop | (done >= self.limit[who])
        if over.any():
            for j in np.flatnonzero(over):
                self._finish(int(slots[j]), "stop" if stop[j] else "length")
            self._compact(slots[over])

    def _record(self, slots: np.ndarray, who: np.ndarray, done: np.ndarray, drawn: Drawn) -> np.ndarray:
        reals = torch.stack([drawn.old, drawn.mu, drawn.entropy]).cpu().numpy()
        if not np.isfinite(reals[0]).all() or not bool(drawn.finite.all()):
            bad = int(np.flatnonzero(~(np.isfinite(reals[0]) & drawn.finite.cpu().numpy()))[0])
            raise diverged(self.requests[who[bad]].id, int(done[bad] + self.before[who[bad]]))
        token = drawn.token.cpu().numpy()
        state = self.rows
        state.ids[slots, done] = token
        state.old[slots, done], state.mu[slots, done], state.entropy[slots, done] = reals
        return token

    def _finish(self, slot: int, finish: Finish) -> None:
        state = self.rows
        count = int(state.done[slot])
        segment = Segment(
            ids=state.ids[slot, :count].copy(),
            origin=np.full(count, Origin.POLICY, np.int8),
            old=state.old[slot, :count].copy(),
            mu=state.mu[slot, :count].copy(),
            entropy=state.entropy[slot, :count].copy(),
            version=self.version,
        )
        self.results[int(state.who[slot])] = Generation(segment, finish)

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


@dataclass(frozen=True, eq=False)
class _Sampling:
    """Sampling parameters of all requests, None where every request has the neutral value."""

    tau: np.ndarray | None
    greedy: np.ndarray | None
    filtered: np.ndarray | None
    top_k: np.ndarray
    top_p: np.ndarray
    min_p: np.ndarray
    stops: np.ndarray | None

    @classmethod
    def of(cls, requests: Sequence[Request], vocab: int) -> _Sampling:
        temperature = np.array([r.temperature for r in requests], np.float64)
        top_k = np.array([r.top_k if r.top_k else vocab for r in requests])
        top_p = np.array([r.top_p for r in requests], np.float64)
        min_p = np.array([r.min_p for r in requests], np.float64)
        greedy = temperature == 0
        tau = np.where(greedy, 1.0, temperature)
        filtered = ~greedy & ((top_k < vocab) | (top_p < 1) | (min_p > 0))
        stops = np.array([bool(r.stop) for r in requests])

        def used(array: np.ndarray, neutral: float | bool) -> np.ndarray | None:
            return array if (array != neutral).any() else None

        return cls(used(tau, 1.0), used(greedy, False), used(filtered, False), top_k, top_p, min_p, used(stops, False))

    def filters(self, who: np.ndarray, device: torch.device, dtype: torch.dtype) -> Filters:
        def tensor(array: np.ndarray, kind: torch.dtype | None = None) -> Tensor:
            return torch.from_numpy(array).to(device=device, dtype=kind)

        tau = None if self.tau is None else tensor(self.tau[who], dtype)
        greedy = None if self.greedy is None else tensor(self.greedy[who])
        rows = np.flatnonzero(self.filtered[who]) if self.filtered is not None else np.zeros(0, np.int64)
        if len(rows) == 0:
            return Filters(tau, greedy)
        chosen = who[rows]
        return Filters(
            tau,
            greedy,
            tensor(rows),
            tensor(self.top_k[chosen]),
            tensor(self.top_p[chosen], dtype),
            tensor(self.min_p[chosen], dtype),
        )
