"""What the loop asks of the place where a parameter set runs. The torch engine implements it; another may slip in.

Training is three calls per chunk of whole rows: `forward` gives per-token outputs as leaves of a small graph, the
objective differentiates that graph to one signed coefficient per token (and per entropy, per asked-for id), `backward`
takes the coefficients. Denominators are in the coefficients already, so chunks simply add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from assay.rng import Key
from assay.streams import Floats, Stream
from assay.types import Batch, Finish, Ids, Request, Segment

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Generation:
    """A request's new tokens: one segment (its end token included), and why it ended."""

    segment: Segment
    finish: Finish


@dataclass(frozen=True, eq=False)
class Span:
    """A given continuation of a context, to be scored at a temperature."""

    context: Ids
    ids: Ids
    temperature: float = 1.0


@dataclass(frozen=True, eq=False)
class Scores:
    """Per token of a span: log-prob and entropy of the full softmax at its temperature."""

    logp: Floats
    entropy: Floats | None = None


@dataclass(frozen=True)
class Want:
    """Which per-token outputs an objective reads beside the log-prob of the token itself."""

    entropy: bool = False
    top_ids: bool = False
    mean_logp: bool = False
    likeliest: int = 0  # so many of the likeliest tokens
    value: bool = False


@dataclass(frozen=True, eq=False)
class Outputs:
    """Per response token of a chunk. Leaves: `requires_grad` is set, and `backward` reads the gradients back."""

    logp: Tensor  # [M]
    entropy: Tensor | None = None  # [M]
    top_logp: Tensor | None = None  # [M, K]
    mean_logp: Tensor | None = None  # [M] over the vocabulary; a number to compare with, no leaf
    likeliest: Tensor | None = None  # int64[M, K] the likeliest tokens where each stands, of equal ones the lower first
    likeliest_logp: Tensor | None = None  # [M, K] numbers, no leaves
    value: Tensor | None = None  # [M]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Whole rows of a batch, on the device of the engine. `rows` are their indices in the batch they were cut from."""

    batch: Batch  # the host's copy of these rows
    rows: np.ndarray
    row: Tensor  # int64[M] index in the chunk of the row of each token
    streams: Mapping[str, Tensor]  # the batch's token streams that are not None, as tensors [M]
    term_weights: Mapping[str, Tensor] = field(default_factory=dict, kw_only=True)  # [M] likewise
    constants: Mapping[Stream, Tensor] = field(default_factory=dict, kw_only=True)  # likewise, [M] or [B]


class Engine(Protocol):
    """One parameter set: sampler, learner and optimiser on one copy of the weights."""

    device: torch.device
    context: int  # positions the model can hold
    vocab: int  # tokens it can write
    version: int  # optimiser steps taken
    end_ids: frozenset[int]
    prefilled: int  # tokens of prompts that were run

    @property
    def place(self) -> str:
        """The device and the code that computes on it: what can change the bits of a result."""
        ...

    @property
    def exact(self) -> bool:
        """Whether the sampler's `old` is bitwise the learner's log-prob."""
        ...

    @property
    def weights_file(self) -> str:
        """The name that its weights have in a folder: those of a model, or of an adapter."""
        ...

    def generate(self, requests: Sequence[Request], key: Key) -> list[Generation]: ...
    def keeping(self) -> AbstractContextManager[None]:
        """Inside, prompts go on from what calls of `generate` have run, as long as the weights stay as they are."""
        ...

    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]: ...
    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[Chunk]: ...
    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        """Where the batch has `blend_ids`, response token m is read as (1 - share) e(ids) + share e(blend_ids), e the
        embeddings of now and share its `blend_share`; no gradient goes back into embeddings that were blended.
        """
        ...

    def backward(self, chunk: Chunk, outputs: Outputs) -> None: ...
    def step(self, *, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]: ...
    def state(self) -> dict[str, Any]: ...
    def view(self) -> dict[str, Any]: ...
    def load(self, state: Mapping[str, Any]) -> None: ...
