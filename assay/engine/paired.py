"""A learner and a sampler as one engine: the sampler writes with the weights that the learner last published to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

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
from assay.rng import Key
from assay.types import Batch, Request

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

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """The weights by their names in checkpoints, one after the other."""
        ...

    def disturbed(self) -> AbstractContextManager[None]:
        """Inside the block every tensor of the weights is changed, so that an old one shows in what is computed."""
        ...


class Follower(Sampler, Protocol):
    """A sampler that takes weights from a learner."""

    @property
    def version(self) -> int:
        """Of the weights that it writes with."""
        ...

    @property
    def exact(self) -> bool:
        """Whether its log-probs are the learner's bit for bit."""
        ...

    def receive(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Takes these weights, by their names in checkpoints; from now on it writes with this version."""
        ...


class Paired:
    """The engine of a parameter set whose learner is spread over ranks.

    The sampler is made when it is first asked for an answer: references and critics never are. Before each call it is
    brought up to the learner's version, so the loop need not know that there are two copies of the weights.

    engine = Paired(learner, lambda: NativeEngine(network, optimiser=None, ...), context=512, vocab=100, end_ids=ends)
    """

    def __init__(
        self,
        learner: Trainer,
        sampler: Callable[[], Follower],
        *,
        context: int,
        vocab: int,
        end_ids: frozenset[int],
        has_threads: bool = False,
    ) -> None:
        self.learner, self._make = learner, sampler
        self.context, self.vocab, self.end_ids, self.has_threads = context, vocab, end_ids, has_threads
        self._sampler: Follower | None = None

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
        """Where the sampler computes by the learner's own code; not known before it was first asked."""
        return self._sampler is not None and self._sampler.exact

    @property
    def prefilled(self) -> int:
        return 0 if self._sampler is None else self._sampler.prefilled

    # Sampling

    @property
    def sampler(self) -> Follower:
        """The sampler, with the learner's weights of now."""
        fresh = self._sampler is None
        if self._sampler is None:
            self._sampler = self._make()
        if fresh or self._sampler.version != self.learner.version or self._moved:
            self._sampler.receive(self.learner.tensors(), self.learner.version)
            self._moved = False
        return self._sampler

    _moved = False  # whether the weights have changed without a new version

    def submit(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Ticket:
        return self.sampler.submit(requests, key, done=done)

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        return self.submit(requests, key, done=done).wait()

    def keeping(self) -> AbstractContextManager[None]:
        return self.sampler.keeping()

    # Learning

    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]:
        return self.learner.score(spans, entropy=entropy)

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[Chunk]:
        return self.learner.chunks(batch, tokens=tokens)

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        return self.learner.forward(chunk, want)

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        self.learner.backward(chunk, outputs)

    def step(self, *, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]:
        return self.learner.step(lr=lr, clip=clip, moments=moments)

    def take(self, other: Self, rate: float = 1.0) -> None:
        self._moved = True
        self.learner.take(other.learner, rate)

    def mark_start(self) -> None:
        self.learner.mark_start()

    def return_to_start(self) -> None:
        self._moved = True
        self.learner.return_to_start()

    def forget(self) -> None:
        self.learner.forget()

    def stored(self, name: str) -> Stored:
        return self.learner.stored(name)

    def restore(self, folder: Path, name: str, version: int) -> None:
        self._moved = True
        self.learner.restore(folder, name, version)
