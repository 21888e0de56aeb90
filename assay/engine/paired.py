"""A learner and a sampler as one engine: the sampler writes with the weights that the learner last published to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from assay.engine.interface import (
    Chunk,
    Done,
    Generation,
    Learner,
    Outputs,
    Sampler,
    Scores,
    Span,
    Stored,
    Ticket,
    Want,
)
from assay.errors import AssayError
from assay.rng import Key
from assay.types import Batch, Request, Stats

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from assay.engine.precision import Precision


class Trainer(Learner, Protocol):
    """A learner that hands out its weights."""

    context: int
    vocab: int

    @property
    def precision(self) -> Precision:
        """The number format that it computes in."""
        ...

    def tensors(self, *, merged: bool = False) -> Iterator[tuple[str, Tensor]]:
        """The weights by their names in checkpoints, one after the other: with an adapter its own alone, or those of a
        plain network that computes the same, into which it is `merged`.
        """
        ...

    def disturbed(self) -> AbstractContextManager[None]:
        """Inside the block every tensor of the weights is changed, so that an old one shows in what is computed."""
        ...


class Follower(Sampler, Protocol):
    """A sampler that takes weights from a learner."""

    @property
    def version(self) -> int:
        """The version of the weights that it writes with."""
        ...

    @property
    def exact(self) -> bool:
        """Whether its log-probs are the learner's bit for bit."""
        ...

    @property
    def merges(self) -> bool:
        """Whether it takes the weights of a plain network, into which an adapter is merged."""
        ...

    def receive(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Takes these weights, by their names in checkpoints; from now on it writes with this version."""
        ...


class Paired:
    """The engine of a parameter set whose learner and whose samplers have weights of their own.

    Samplers are made when the first answer is asked for: references and critics never are. Before each call a sampler
    is brought up to the learner's version, so the loop need not know that there are several copies of the weights. It
    first ends what it is writing with the old ones, unless weights may change `in_flight`. Where there are several
    samplers, they take new versions in turn, so that each has time to end its answers.

    engine = Paired(learner, lambda: [NativeEngine(network, optimiser=None, ...)], context=512, vocab=100, end_ids=ends)
    """

    def __init__(
        self,
        learner: Trainer,
        samplers: Callable[[], Sequence[Follower]],
        *,
        context: int,
        vocab: int,
        end_ids: frozenset[int],
        has_threads: bool = False,
        in_flight: bool = False,
    ) -> None:
        self.learner, self._make, self.in_flight = learner, samplers, in_flight
        self.context, self.vocab, self.end_ids, self.has_threads = context, vocab, end_ids, has_threads
        self._posts: list[_Post] = []
        self._turn = 0  # the post that has the newest weights
        self._moves = 0  # how often the weights changed without a new version

    @property
    def device(self) -> torch.device:
        return self.learner.device

    @property
    def version(self) -> int:
        return self.learner.version

    @property
    def place(self) -> str:
        return self.learner.place

    @property
    def exact(self) -> bool:
        """Whether all samplers compute by the learner's own code. False before the first sampler was made."""
        return self.learner.exact and bool(self._posts) and all(post.sampler.exact for post in self._posts)

    @property
    def prefilled(self) -> int:
        return sum(post.sampler.prefilled for post in self._posts)

    # Sampling

    @property
    def sampler(self) -> Follower:
        """A sampler with the learner's weights of now."""
        return self._post().sampler

    def _post(self) -> _Post:
        self._posts = self._posts or [_Post(sampler) for sampler in self._make()]
        now = (self.learner.version, self._moves)
        if self._posts[self._turn].holds != now:
            if self._posts[self._turn].busy:
                self._turn = (self._turn + 1) % len(self._posts)
            post = self._posts[self._turn]
            if not self.in_flight:
                post.settle()
            post.sampler.receive(self.learner.tensors(merged=post.sampler.merges), self.learner.version)
            post.holds = now
        return self._posts[self._turn]

    def submit(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Ticket:
        post = self._post()
        ticket = post.sampler.submit(requests, key, done=done)
        if done is None:  # a caller that gives `done` waits at once
            post.open.append(ticket)
        return ticket

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        return self._post().sampler.generate(requests, key, done=done)

    def keeping(self) -> AbstractContextManager[None]:
        return self.sampler.keeping()

    def writers(self, requests: Sequence[str]) -> str:
        return ", ".join(filter(None, {post.sampler.writers(requests): None for post in self._posts}))

    def measured(self) -> Stats:
        found = [post.sampler.measured() for post in self._posts]
        names = {name for one in found for name in one}
        return {name: (max if name.endswith("_gap") else sum)(one.get(name, 0.0) for one in found) for name in names}

    # Learning

    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]:
        return self.learner.score(spans, entropy=entropy)

    def influence(self, spans: Sequence[Span], ends: Sequence[Sequence[int]], *, gap: int) -> list[np.ndarray]:
        return self.learner.influence(spans, ends, gap=gap)

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[Chunk]:
        return self.learner.chunks(batch, tokens=tokens)

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        return self.learner.forward(chunk, want)

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        self.learner.backward(chunk, outputs)

    def step(self, *, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]:
        return self.learner.step(lr=lr, clip=clip, moments=moments)

    def take(self, other: Self, rate: float = 1.0) -> None:
        self._moves += 1
        self.learner.take(other.learner, rate)

    def mark_start(self) -> None:
        self.learner.mark_start()

    def return_to_start(self) -> None:
        self._moves += 1
        self.learner.return_to_start()

    def forget(self) -> None:
        self.learner.forget()

    def stored(self, name: str) -> Stored:
        return self.learner.stored(name)

    def restore(self, folder: Path, name: str, version: int) -> None:
        self._moves += 1
        self.learner.restore(folder, name, version)


@dataclass(eq=False)
class _Post:
    """One sampler of a pair, what it has open, and which weights it holds."""

    sampler: Follower
    open: list[Ticket] = field(default_factory=list)  # tickets that may not be ready
    holds: tuple[int, int] | None = None  # version of the weights, and how often they had changed without a new one

    @property
    def busy(self) -> bool:
        self.open = [ticket for ticket in self.open if not ticket.ready]
        return bool(self.open)

    def settle(self) -> None:
        """Waits until all that is open is written. An error that prevented an answer is not raised here, but where the
        caller waits for its ticket.
        """
        while self.busy:
            with suppress(AssayError):
                self.open.pop(0).wait()
