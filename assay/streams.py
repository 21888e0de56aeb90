"""What travels with a row number by number. Each such stream is declared once; all who carry it read the declaration.

The type of a field is its declaration: `ref: TokenFloats | None = None` on `Carried` makes `ref` a stream of rows and
of batches, and packing, `Batch.select`, the engines' chunks, the views of an objective and the rollouts have it too.
What the parts of one method find out for each other is declared beside these parts and is a key of `constants`:

    GAMMA = Stream("gamma", per="row", filled_by="`ratio-quantile` of `forwards`")

    row.mark(constants={**row.constants, GAMMA: 0.7})  # in the part that fills it
    view.spread(view.constant(GAMMA))                  # in the part that reads it, [M]

Legend: B rows, M response tokens of all rows laid end to end, T those of one row, C context tokens, K asked-for ids.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np


@dataclass(frozen=True)
class Stream:
    """The declaration of a stream: what it is called, how many numbers it has, of which type."""

    name: str = ""  # of the type of a field: none, the field has it
    _: dataclasses.KW_ONLY
    per: Literal["token", "row"]
    dtype: str = "float32"
    wide: bool = False  # several numbers to each token: [T, K]
    fill: float | None = None  # stands for a row that has no such constant; None: all rows of a batch have it, or none
    filled_by: str = ""  # the part that fills a constant, as an error that misses it names the part


Ids = np.ndarray  # int32[T], of a context or of anything else that is no stream
Floats = np.ndarray  # float32[T], likewise

TokenIds = Annotated[np.ndarray, Stream(per="token", dtype="int32")]
TokenCodes = Annotated[np.ndarray, Stream(per="token", dtype="int8")]
TokenFlags = Annotated[np.ndarray, Stream(per="token", dtype="bool")]
TokenFloats = Annotated[np.ndarray, Stream(per="token")]
WideIds = Annotated[np.ndarray, Stream(per="token", dtype="int32", wide=True)]
WideFlags = Annotated[np.ndarray, Stream(per="token", dtype="bool", wide=True)]
WideFloats = Annotated[np.ndarray, Stream(per="token", wide=True)]
RowFlags = Annotated[np.ndarray, Stream(per="row", dtype="bool")]
RowFloats = Annotated[np.ndarray, Stream(per="row")]
RowNames = Annotated[tuple[str, ...], Stream(per="row", dtype="str")]


@functools.cache
def streams_of(record: type) -> Mapping[str, Stream]:
    """The streams that the fields of a record are, by name, in the order of the fields."""
    hints = get_type_hints(record, include_extras=True)
    found = {field.name: _declared(hints[field.name]) for field in dataclasses.fields(record)}
    return {name: dataclasses.replace(stream, name=name) for name, stream in found.items() if stream is not None}


def _declared(hint: Any) -> Stream | None:
    """The declaration in a type, or in one that may be None."""
    if get_origin(hint) is Annotated:
        return next((note for note in hint.__metadata__ if isinstance(note, Stream)), None)
    return next((stream for part in get_args(hint) if (stream := _declared(part)) is not None), None)


def token_streams(record: Any) -> dict[str, np.ndarray]:
    """The streams per token that somebody filled, by name."""
    found = {name: getattr(record, name) for name, stream in streams_of(type(record)).items() if stream.per == "token"}
    return {name: array for name, array in found.items() if array is not None}


@dataclass(frozen=True, eq=False, kw_only=True)
class Carried:
    """Streams that a row has for its answer and a batch for all of its rows: packing lays them end to end as they are.
    The forwards that were asked for, and what credit found out. One that nobody filled is None.
    """

    old: TokenFloats | None = None  # the learner's log-prob before the update, under the sampling context; None: of now
    ref: TokenFloats | None = None  # the reference's log-prob, under the training context
    value: TokenFloats | None = None  # what a critic says of the state before the token
    target: TokenFloats | None = None  # what a critic is to learn of that state
    top_ids: WideIds | None = None  # the likeliest tokens before the first update
    blend_ids: TokenIds | None = None  # a second token that the learner reads in the place of each: the mixture
    blend_share: TokenFloats | None = None  # (1 - share) e(token) + share e(second), e the embeddings of now


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch(Carried):
    """Rows packed for one or several optimiser steps: contexts and responses laid end to end, no padding anywhere."""

    context: Ids  # [C] training contexts
    context_at: np.ndarray  # int64[B+1] row b's context is context[context_at[b]:context_at[b+1]]
    ids: TokenIds  # response tokens
    at: np.ndarray  # int64[B+1] row b's response is ids[at[b]:at[b+1]], and so are all streams per token
    mask: TokenFlags  # tokens in the loss
    counted: TokenFlags  # tokens in the denominator
    counted_rows: RowFlags  # rows in the denominator
    advantage: TokenFloats
    origin: TokenCodes
    temperature: RowFloats
    problem: RowNames
    request: RowNames
    group: RowNames
    role: str = "policy"  # whose parameter set learns from it; the same set plays all of `roles`
    roles: RowNames | None = None
    tag: RowNames | None = None
    outcome: RowFloats | None = None  # the row's reward; NaN where it has none
    right: RowFlags | None = None  # it was judged, and found right
    ended: RowFlags | None = None  # the episode reached its true end
    truncated: RowFlags | None = None  # a limit cut it; both may be False (a pause)
    bootstrap: RowFloats | None = None  # value beyond a truncation
    version: TokenIds | None = None  # policy version that wrote the token
    sampled: TokenFloats | None = None  # the sampler's log-prob under the full softmax; NaN where none is known
    mu: TokenFloats | None = None  # the sampler's under the filtered distribution; NaN likewise
    entropy: TokenFloats | None = None  # of the full softmax, when the token was sampled; NaN likewise
    reward: TokenFloats | None = None  # dense, where there is one
    continues: TokenFloats | None = None  # kappa: probability that the future counts
    node: TokenIds | None = None
    legal: WideFlags | None = None  # bool[M, V] where actions are masked
    cost: WideFloats | None = None  # float32[M, K]
    generation: Ids | None = None  # generation contexts, where they differ from the training contexts
    generation_at: np.ndarray | None = None
    term_weights: Mapping[str, Floats] = field(default_factory=dict)  # [M] of each further loss term, by its name
    constants: Mapping[Stream, np.ndarray] = field(default_factory=dict)  # what parts found out for each other

    def __len__(self) -> int:
        return len(self.at) - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.at)

    @property
    def moved(self) -> np.ndarray:
        """bool[B]: rows that are trained under another context than they were sampled under."""
        if self.generation is None or self.generation_at is None:
            return np.zeros(len(self), dtype=bool)
        trained, sampled = self.context_at, self.generation_at
        return np.array(
            [
                not np.array_equal(
                    self.context[trained[i] : trained[i + 1]], self.generation[sampled[i] : sampled[i + 1]]
                )
                for i in range(len(self))
            ],
            dtype=bool,
        )

    def select(self, rows: Sequence[int] | np.ndarray) -> Batch:
        """The batch of these rows, in this order."""
        rows = np.asarray(rows, dtype=np.int64)
        tokens, at = _gather(self.at, rows)
        contexts, context_at = _gather(self.context_at, rows)
        changes: dict[str, Any] = {"at": at, "context_at": context_at, "context": self.context[contexts]}
        if self.generation is not None and self.generation_at is not None:
            generation, changes["generation_at"] = _gather(self.generation_at, rows)
            changes["generation"] = self.generation[generation]
        indices = {"token": tokens, "row": rows}
        for name, stream in streams_of(type(self)).items():
            if (value := getattr(self, name)) is not None:
                where = indices[stream.per]
                changes[name] = tuple(value[i] for i in where) if isinstance(value, tuple) else value[where]
        changes["term_weights"] = {name: value[tokens] for name, value in self.term_weights.items()}
        changes["constants"] = {stream: value[indices[stream.per]] for stream, value in self.constants.items()}
        return dataclasses.replace(self, **changes)


def _gather(at: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the tokens of `rows` in a packed array with offsets `at`, and the offsets of the result."""
    lengths = at[rows + 1] - at[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.repeat(at[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return indices, offsets
