"""The interface between the loop and an engine, the code that runs a parameter set: it samples, and it learns.

Training takes three steps for each chunk of whole rows. `forward` gives per-token outputs, which are the leaves of a
small autograd graph. The objective differentiates that graph to one signed coefficient for each output. `backward`
takes the coefficients through the network. The coefficients hold the loss's denominators already, so the gradients of
chunks are simply added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from assay.errors import ConfigError
from assay.light import light
from assay.rng import Key
from assay.streams import Floats, Stream
from assay.types import Batch, Finish, Ids, Request, Segment, Stats

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@light
@dataclass(frozen=True, eq=False)
class Generation:
    """The new tokens of a request: one segment, which includes the end token, and why the segment ended.

    Where the weights changed while the tokens were written, `spans` has a segment for each version, and `segment` has
    all of their tokens under the oldest version. A generation that failed has no tokens: `kind` and `detail` say why.

    Example:
        (made,) = engine.generate([request], key)
        made.finish, tokenizer.decode(made.segment.ids)  # "stop", "The answer is 4."
    """

    segment: Segment
    finish: Finish
    spans: tuple[Segment, ...] = ()  # empty: one version wrote all
    kind: str = ""  # of a failure: sampler_lost, sampler_answer
    detail: str = ""

    @classmethod
    def failed(cls, kind: str, detail: str, *, version: int = 0) -> Generation:
        """The placeholder of an answer that the sampler could not write. The policy is not at fault, so the answer is
        never worth zero.
        """
        nothing = np.zeros(0, np.float32)
        segment = Segment(np.zeros(0, np.int32), np.zeros(0, np.int8), nothing, nothing, version=version)
        return cls(segment, "error", kind=kind, detail=detail)


@light
@dataclass(frozen=True, eq=False)
class Span:
    """A given continuation of a context, whose log-probabilities are asked for at a temperature; in a world of numbers
    with what was seen before each of its steps, and what was done.

    Example:
        (scores,) = engine.score([Span(context=prompt_ids, ids=answer_ids)])
        scores.logp.sum()  # log pi(answer | prompt)
    """

    context: Ids
    ids: Ids
    temperature: float = 1.0
    seen: Floats | None = None  # [T, F], as `Segment.seen`
    action: Floats | None = None  # [T, A], as `Segment.action`


@light
@dataclass(frozen=True, eq=False)
class Scores:
    """For each token of a span: its log-probability and the entropy, of the full softmax at the span's temperature."""

    logp: Floats
    entropy: Floats | None = None


@dataclass(frozen=True)
class Want:
    """The per-token outputs that an objective needs beside the log-probability of the token itself.

    Example:
        outputs = engine.forward(chunk, Want(entropy=True))
        outputs.logp, outputs.entropy  # both [M]
    """

    entropy: bool = False
    top_ids: bool = False  # the log-probabilities of the batch's `top_ids`
    mean_logp: bool = False  # the mean log-probability over the vocabulary
    likeliest: int = 0  # how many of the likeliest tokens, with their log-probabilities
    value: bool = False  # the value head's estimate


@dataclass(frozen=True, eq=False)
class Outputs:
    """The results of a forward pass for each of the M response tokens of a chunk.

    When the engine learns, `logp`, `entropy`, `top_logp` and `value` are leaves: `backward` reads their gradients.

    Example:
        (-(advantage * outputs.logp).sum() / tokens).backward()  # autograd fills outputs.logp.grad
        engine.backward(chunk, outputs)  # and the engine takes it to the parameters
    """

    logp: Tensor  # [M]
    entropy: Tensor | None = None  # [M]
    top_logp: Tensor | None = None  # [M, K]
    mean_logp: Tensor | None = None  # [M] mean over the vocabulary; not a leaf
    likeliest: Tensor | None = None  # int64[M, K] the K likeliest ids at the token's place; ties: the lower id first
    likeliest_logp: Tensor | None = None  # [M, K] their log-probabilities; not leaves
    value: Tensor | None = None  # [M]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Whole rows of a batch, on the device of the engine.

    Example:
        for chunk in engine.chunks(batch, tokens=4096):
            outputs = engine.forward(chunk, Want())
    """

    batch: Batch  # these rows, in the host's memory
    rows: np.ndarray  # their indices in the batch that they were cut from
    row: Tensor  # int64[M] the row of each token, as an index into this chunk
    streams: Mapping[str, Tensor]  # the batch's token streams that are not None, as tensors [M]
    term_weights: Mapping[str, Tensor] = field(default_factory=dict, kw_only=True)  # [M] likewise
    constants: Mapping[Stream, Tensor] = field(default_factory=dict, kw_only=True)  # likewise, [M] or [B]


Done = Callable[[int, Generation], None]
"""(place of a request in its call, the generation that was written for it) -> nothing."""

Heard = Callable[[int, Ids], bool]
"""(place of a request in its call, the tokens of its answer so far) -> whether the answer ends here. Engines of this
machine call it while they write, and never from another thread: after each token, or up to a hundred times a second if
tokens are new. A row that it ends has the finish "stop". The whole answer comes as the `Generation`.
"""


class Ticket(Protocol):
    """Requests that were given to a sampler.

    Example:
        ticket = engine.submit(requests, key)
        ...  # the learner takes a step
        generations = ticket.wait()
    """

    @property
    def ready(self) -> bool:
        """Whether `wait` would return at once."""
        ...

    def wait(self) -> list[Generation]:
        """The generations, in the order of the requests. An error that prevented them is raised here."""
        ...


class Sampler(Protocol):
    """The side of an engine that writes: it continues contexts with one version of a parameter set."""

    context: int  # the most tokens that prompt and answer may have together
    vocab: int  # how many tokens the sampler can write: ids 0 .. vocab - 1
    end_ids: frozenset[int]  # the tokens that end an answer
    has_threads: bool  # whether it has threads of its own in this process, beside torch's

    @property
    def prefilled(self) -> int:
        """Prompt tokens that the sampler has run so far."""
        ...

    def submit(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Ticket:
        """Begins one generation for each request with the weights of now. An engine that computes in this process
        writes them before it returns.

        `done(place, generation)` is called once for each request, soon after its answer is complete and before `wait`
        of the ticket returns, never by another thread. An exception of `done` ends the call that it was made in.
        """
        ...

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        """Samples one generation for each request, in the order of the requests: `submit`, then `wait`."""
        ...

    def keeping(self) -> AbstractContextManager[None]:
        """Inside the block, `generate` reuses the keys and values of earlier calls, until the weights change."""
        ...

    def writers(self, requests: Sequence[str]) -> str:
        """The names of the other processes that wrote the answers to the requests of these ids; "" if none did."""
        ...

    def measured(self) -> Stats:
        """The metrics of its own since this was last asked; none for an engine in this process."""
        ...


WriteFile = Callable[[Path, Iterable[Any]], tuple[int, str]]
"""(path, the bytes in pieces) -> the size and the SHA-256 of the file that was written."""


class Stored(Protocol):
    """The state of a parameter set as the files of a checkpoint, before they are written."""

    @property
    def nbytes(self) -> int: ...

    def broken(self) -> str | None:
        """The name of a tensor with a value that is not finite, if there is one."""
        ...

    @property
    def folders(self) -> Sequence[str]:
        """The folders that `write` expects to be there."""
        ...

    def has_room(self, size: int) -> bool:
        """Whether the host's memory has room for a copy of so many bytes, of this set and of others beside it."""
        ...

    def kept(self) -> Stored:
        """The same state as a copy in the host's memory, which no later step changes and another thread may write."""
        ...

    def write(self, folder: Path, write: WriteFile) -> dict[str, tuple[int, str]]:
        """Writes the files below `folder`: name -> size and SHA-256."""
        ...


class Learner(Protocol):
    """The side of an engine that learns: it scores and trains a parameter set, with its optimiser.

    Example:
        for chunk in learner.chunks(batch, tokens=4096):
            outputs = learner.forward(chunk, want)  # the objective differentiates its loss by these
            learner.backward(chunk, outputs)
        learner.step(lr=1e-6, clip=1.0)
    """

    @property
    def device(self) -> torch.device:
        """The device on which the outputs of `forward` lie."""
        ...

    @property
    def version(self) -> int:
        """Optimiser steps taken."""
        ...

    @property
    def place(self) -> str:
        """The device and the code that computes on it, such as "cpu native avx2": both can change a result's bits."""
        ...

    @property
    def exact(self) -> bool:
        """Whether the log-probability `old` that the sampler records equals the learner's bit for bit."""
        ...

    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]: ...
    def influence(self, spans: Sequence[Span], ends: Sequence[Sequence[int]], *, gap: int) -> list[np.ndarray]:
        """For each step of each continuation, how much the steps `gap` or more behind it attend to it
        (`assay.engine.torch.influence`); `ends` are the ends of the steps. An engine that cannot tell raises an error.
        """
        ...

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[Chunk]: ...
    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        """If the batch has `blend_ids`, response token m is read as (1 - share) e(ids) + share e(blend_ids), e the
        embeddings of now and share its `blend_share`; no gradient goes back into embeddings that were blended.
        """
        ...

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        """Takes the gradients of the leaves of `outputs` through the network, and adds to the parameters' gradients."""
        ...

    def step(self, *, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]:
        """One optimiser step on the gathered gradients; `moments` names a set of moments of the objective's own."""
        ...

    def take(self, other: Self, rate: float = 1.0) -> None:
        """w <- rate w_other + (1 - rate) w. The optimiser begins anew.

        With a rate of 1 these are the weights of `other` and have its version. An average equals no version of a
        policy, and keeps the version that it had.
        """
        ...

    def mark_start(self) -> None:
        """Keeps a copy of the weights as they are now, for `return_to_start`."""
        ...

    def return_to_start(self) -> None:
        """Puts back the weights of `mark_start`, with an optimiser that begins anew. The version counts on: two
        different sets of weights never share one.
        """
        ...

    def forget(self) -> None:
        """The optimiser begins anew, on the weights as they are."""
        ...

    def stored(self, name: str) -> Stored:
        """The state as the files of a checkpoint: weights in the folder `name`, in Hugging Face's format, or PEFT's for
        an adapter, and the optimiser's state in the folder `optimiser`.
        """
        ...

    def restore(self, folder: Path, name: str, version: int) -> None:
        """Reads what `stored(name)` wrote below `folder`; the run goes on bit for bit as if it had never stopped."""
        ...


class Engine(Sampler, Learner, Protocol):
    """One parameter set: sampler, learner and optimiser.

    Example:
        generations = engine.generate(requests, key)
        for chunk in engine.chunks(batch, tokens=4096):
            outputs = engine.forward(chunk, want)
            engine.backward(chunk, outputs)
        engine.step(lr=1e-6, clip=1.0)
    """


def without_attention(engine: str) -> ConfigError:
    """The error of an engine that cannot say which tokens attend to which."""
    return ConfigError(
        f"the {engine} engine gives no scores of attention, which the recipe reads: it has kernels that never hold "
        "them. Take a model of a family that Assay runs itself, with --machine.engine torch or native and one learner."
    )
