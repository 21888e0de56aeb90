"""The part of sampling that does not depend on the network: draw tokens from logits, record them, end rows.

Each request has a stream of random numbers of its own, and token t of its answer uses number t of that stream. So an
answer does not depend on the other rows in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import torch
from torch import Tensor

from assay.engine.filtering import Filters, draw
from assay.engine.interface import Done, Generation, Heard
from assay.errors import AssayError, ConfigError, DataError
from assay.rng import Key, uniforms
from assay.types import Finish, Ids, Origin, Request, Segment

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Limits:
    """The context and memory that a sampling call may use, and its ends of rows: end tokens, and `decode` for stop
    strings.
    """

    context: int  # the most tokens that prompt and answer may have together
    end_ids: frozenset[int]
    memory_bytes: int  # for the keys and values of the rows in flight
    decode: Decode | None = None  # needed to find stop strings


def check(requests: Sequence[Request], limits: Limits) -> None:
    """Raise an error for a request that cannot be sampled, before any work is done."""
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
            raise ConfigError(
                f"request {request.id} has stop strings, but the engine was built without `decode` to look for them; "
                "pass decode=tokenizer.decode"
            )
        if request.id in seen:
            raise DataError(f"two requests have the id {request.id}: give them different `draw` or `sample` numbers")
        seen.add(request.id)


def diverged(request: str, token: int) -> AssayError:
    return AssayError(
        f"the policy gave logits that are not finite for request {request} at answer token {token}: its weights have "
        "most likely diverged; resume from an earlier checkpoint with a lower learning rate"
    )


def stops(request: Request, ids: Ids, decode: Decode | None) -> bool:
    """Whether the last token completes a stop string.

    Only the last tokens are decoded. A character takes up to four tokens (one for each byte), and a few more are added.
    """
    assert decode is not None
    tail = ids[-(4 * max(len(s) for s in request.stop) + 8) :]
    text = decode(tail.tolist())
    return any(s in text for s in request.stop)


def prompt_of(request: Request) -> Ids:
    """The tokens that the sampler continues: the request's context and the part of the answer that exists already."""
    parts = [request.context, *(segment.ids for segment in request.prefix)]
    return np.concatenate(parts) if len(parts) > 1 else request.context


@dataclass(eq=False)
class Written:
    """What the rows in flight have written: entry i of each array belongs to slot i."""

    who: np.ndarray  # index of the request
    done: np.ndarray  # new tokens written so far
    ids: np.ndarray  # [slots, width], as all below
    old: np.ndarray
    mu: np.ndarray
    entropy: np.ndarray

    @classmethod
    def empty(cls, slots: int, width: int) -> Self:
        return cls(**cls._arrays(slots, width))

    @classmethod
    def _arrays(cls, slots: int, width: int) -> dict[str, np.ndarray]:
        reals = {name: np.zeros((slots, width), np.float32) for name in ("old", "mu", "entropy")}
        counts = {name: np.zeros(slots, np.int64) for name in ("who", "done")}
        return counts | {"ids": np.zeros((slots, width), np.int32)} | reals

    def move(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy the state of the slots `source` onto the slots `target`."""
        for array in vars(self).values():
            array[target] = array[source]


@dataclass(eq=False)
class Rows(Written):
    """The whole state of the rows in flight, where the host draws."""

    position: np.ndarray  # the position of the token to be fed next
    token: np.ndarray  # the token to be fed next
    u: np.ndarray  # [slots, width] a uniform random number for each new token

    @classmethod
    def _arrays(cls, slots: int, width: int) -> dict[str, np.ndarray]:
        own = {name: np.zeros(slots, np.int64) for name in ("position", "token")}
        return super()._arrays(slots, width) | own | {"u": np.zeros((slots, width), np.float64)}


@dataclass(eq=False)
class Asked:
    """The requests of one call of a sampler, and the generations that are finished."""

    requests: Sequence[Request]
    key: Key
    limits: Limits
    version: int
    vocab: int
    wide: torch.dtype
    done: Done | None = None  # is told of each generation when it is complete
    heard: Heard | None = None  # hears each answer after each token, and may end it
    results: dict[int, Generation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.limit = np.array([r.max_new for r in self.requests])
        self.before = np.array([r.given for r in self.requests])
        self.ends = np.zeros(self.vocab, bool)
        self.ends[[i for i in self.limits.end_ids if 0 <= i < self.vocab]] = True
        self.sampling = SamplingArrays.of(self.requests, self.vocab)

    def noise(self, rows: np.ndarray) -> np.ndarray:
        """float64[rows, most]: a uniform random number for each new token of these requests, of which the longest may
        have `most`.
        """
        before, limit = self.before[rows], self.limit[rows]
        keys = self.key.branches(self.requests[i].id for i in rows)
        noise = uniforms(keys, int((before + limit).max()))
        column = np.minimum(before[:, None] + np.arange(int(limit.max())), noise.shape[1] - 1)
        return np.take_along_axis(noise, column, 1)

    def record(self, state: Written, slots: np.ndarray, drawn: np.ndarray, finite: np.ndarray) -> np.ndarray:
        """Record a token for each of these slots: `drawn` [4, n] are tokens, `old`, `mu` and entropies, and `finite`
        says whose logits were. Returns the slots whose rows are finished.
        """
        who, done = state.who[slots], state.done[slots]
        finite = finite & np.isfinite(drawn[1])
        if not finite.all():
            bad = int(np.flatnonzero(~finite)[0])
            raise diverged(self.requests[who[bad]].id, int(done[bad] + self.before[who[bad]]))
        token = drawn[0].astype(np.int64)
        state.ids[slots, done] = token
        state.old[slots, done], state.mu[slots, done], state.entropy[slots, done] = drawn[1:]
        done = done + 1
        state.done[slots] = done
        stop = self.ends[token]
        if self.sampling.stops is not None:
            for j in np.flatnonzero(self.sampling.stops[who] & ~stop):
                stop[j] = stops(self.requests[who[j]], state.ids[slots[j], : done[j]], self.limits.decode)
        if self.heard is not None:
            for j, slot in enumerate(slots):
                stop[j] |= self.heard(int(who[j]), state.ids[slot, : done[j]])
        over = stop | (done >= self.limit[who])
        for j in np.flatnonzero(over):
            self._finish(state, int(slots[j]), "stop" if stop[j] else "length")
        return slots[over]

    def _finish(self, state: Written, slot: int, finish: Finish) -> None:
        count = int(state.done[slot])
        segment = Segment(
            ids=state.ids[slot, :count].copy(),
            origin=np.full(count, Origin.POLICY, np.int8),
            old=state.old[slot, :count].copy(),
            mu=state.mu[slot, :count].copy(),
            entropy=state.entropy[slot, :count].copy(),
            version=self.version,
        )
        request = int(state.who[slot])
        self.results[request] = Generation(segment, finish)
        if self.done is not None:
            self.done(request, self.results[request])

    def in_order(self) -> list[Generation]:
        """The generation of each request."""
        return [self.results[i] for i in range(len(self.requests))]


@dataclass(eq=False)
class SamplingCall(Asked):
    """One call of a sampler whose host draws each token.

    Example:
        call.begin(0, np.arange(n), prompt_lengths)  # requests 0 .. n - 1 enter slots 0 .. n - 1
        finished = call.settle(np.arange(n), logits)  # a token for each; the slots whose rows are over
    """

    def reserve(self, slots: int) -> None:
        self.rows = Rows.empty(slots, int(self.limit.max()))

    def begin(self, low: int, rows: np.ndarray, size: np.ndarray) -> None:
        """Put the requests `rows`, whose prompts have `size` tokens, into the slots from `low` on."""
        high, state, noise = low + len(rows), self.rows, self.noise(rows)
        state.who[low:high] = rows
        state.done[low:high] = 0
        state.position[low:high] = size
        state.u[low:high, : noise.shape[1]] = noise

    def settle(self, slots: np.ndarray, logits: Tensor) -> np.ndarray:
        """Draw a token for each of these slots and record it. Returns the slots whose rows are finished."""
        state = self.rows
        u = torch.from_numpy(state.u[slots, state.done[slots]]).to(logits.device)
        drawn = draw(logits, u, self.sampling.filters(state.who[slots], logits.device, self.wide))
        numbers = torch.stack([drawn.token.to(torch.float64), drawn.old, drawn.mu, drawn.entropy]).cpu().numpy()
        state.token[slots] = numbers[0].astype(np.int64)
        return self.record(state, slots, numbers, drawn.finite.cpu().numpy())


def barred_sets(requests: Sequence[Request]) -> list[tuple[int, ...]]:
    """The different sets of tokens that requests must not draw."""
    return [barred for barred in dict.fromkeys(request.barred for request in requests) if barred]


def flags_of(sets: Sequence[tuple[int, ...]], vocab: int) -> np.ndarray | None:
    """uint8[sets, vocab]: 1 for the tokens of each set; None if there is no set."""
    flags = np.zeros((len(sets), vocab), np.uint8)
    for row, barred in zip(flags, sets, strict=True):
        row[[token for token in barred if token < vocab]] = 1
    return flags if len(sets) else None


@dataclass(frozen=True, eq=False)
class SamplingArrays:
    """The sampling parameters of all requests. A field is None where every request has the neutral value."""

    tau: np.ndarray | None
    greedy: np.ndarray | None
    filtered: np.ndarray | None
    top_k: np.ndarray
    top_p: np.ndarray
    min_p: np.ndarray
    stops: np.ndarray | None
    barred: np.ndarray | None  # the number of the set of `flags` that each request must not draw, -1 for none
    flags: np.ndarray | None

    @classmethod
    def of(cls, requests: Sequence[Request], vocab: int) -> SamplingArrays:
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

        sets = barred_sets(requests)
        which = np.array([sets.index(r.barred) if r.barred else -1 for r in requests])
        settings = (used(tau, 1.0), used(greedy, False), used(filtered, False), top_k, top_p, min_p, used(stops, False))
        return cls(*settings, used(which, -1), flags_of(sets, vocab))

    def filters(self, who: np.ndarray, device: torch.device, dtype: torch.dtype) -> Filters:
        def tensor(array: np.ndarray, kind: torch.dtype | None = None) -> Tensor:
            return torch.from_numpy(array).to(device=device, dtype=kind)

        tau = None if self.tau is None else tensor(self.tau[who], dtype)
        greedy = None if self.greedy is None else tensor(self.greedy[who])
        barred = None
        if self.barred is not None and self.flags is not None:
            sets = self.barred[who]
            barred = tensor(self.flags[sets].astype(bool) & (sets >= 0)[:, None])
        if self.filtered is None or not self.filtered[who].any():
            return Filters(tau, greedy, barred=barred)
        return Filters(
            tau,
            greedy,
            tensor(self.filtered[who]),
            tensor(self.top_k[who]),
            tensor(self.top_p[who], dtype),
            tensor(self.min_p[who], dtype),
            barred,
        )
