"""Streams: numbers that travel with an answer, one for each token or one for each row. A stream is declared once, and
every place that carries it reads the declaration.

The type of a field is the declaration: `ref: TokenFloats | None = None` on `Carried` makes `ref` a stream of rows and
of batches. Packing, `Batch.select`, the engines' chunks, the views of an objective and the rollouts then carry it.
A number that the parts of one method compute for each other is declared beside these parts and is a key of `constants`:

    GAMMA = Stream("gamma", per="row", filled_by="`ratio-quantile` of `forwards`")

    row.mark(constants={**row.constants, GAMMA: 0.7})  # in the part that fills it
    view.spread(view.constant(GAMMA))                  # in the part that reads it, [M]

Letters in shapes: B rows; T response tokens of one row; M response tokens of all rows, laid end to end; C context
tokens; K token ids for each position, as many as somebody asked for, or constraints that a step may cost; F numbers of
an observation, A of an action. In a world of numbers a token is a step: the number of a discrete action, else 0.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints, overload

import numpy as np


@dataclass(frozen=True)
class Stream:
    """The declaration of a stream: its name, how many numbers it has, and of which type.

    Example:
        Stream("gamma", per="row", filled_by="`ratio-quantile` of `forwards`")
    """

    name: str = ""  # empty in the type of a field, which has the name of the field
    _: dataclasses.KW_ONLY
    per: Literal["token", "row"]
    dtype: str = "float32"  # of an array; "str": names, as `Names`
    wide: bool = False  # several numbers to each token: [T, K]
    fill: float | None = None  # the value for a row that lacks it; None: all rows of a batch have it, or none
    filled_by: str = ""  # the part that computes the constant; an error about a missing constant names it


@dataclass(frozen=True, eq=False)
class Names(Sequence[str]):
    """A name for each row, kept as the number of the name in a table that selections share: to select rows is to select
    numbers, whatever the names are.

    Example:
        names = Names.of(["left", "right", "left"])
        names.codes, list(names)[1], names.are("left")  # [0, 1, 0], "right", [True, False, True]
    """

    codes: np.ndarray  # int32[B] places in the table
    table: tuple[str, ...]  # different names, perhaps more than these rows have

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        every = list(names)
        table = {name: code for code, name in enumerate(dict.fromkeys(every))}
        return cls(np.fromiter(map(table.__getitem__, every), np.int32, len(every)), tuple(table))

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice | np.ndarray) -> Names: ...
    def __getitem__(self, place: Any) -> Any:
        """The name at a place, or the names at several."""
        codes = self.codes[place]
        return Names(codes, self.table) if isinstance(codes, np.ndarray) else self.table[codes]

    def __iter__(self) -> Iterator[str]:
        return map(self.table.__getitem__, self.codes.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names) and other.table is self.table:
            return np.array_equal(self.codes, other.codes)
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def are(self, name: str) -> np.ndarray:
        """bool[B]: the rows with this name."""
        return self.codes == (self.table.index(name) if name in self.table else -1)

    @property
    def numbers(self) -> np.ndarray:
        """int64[B]: a number for each different name of these rows, counted in the order of their first rows."""
        _, first, which = np.unique(self.codes, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[which]


Ids = np.ndarray  # int32[T] that is no stream, of a context for example
Floats = np.ndarray  # float32[T] that is no stream

TokenIds = Annotated[np.ndarray, Stream(per="token", dtype="int32")]
TokenCodes = Annotated[np.ndarray, Stream(per="token", dtype="int8")]
TokenFlags = Annotated[np.ndarray, Stream(per="token", dtype="bool")]
TokenFloats = Annotated[np.ndarray, Stream(per="token")]
WideIds = Annotated[np.ndarray, Stream(per="token", dtype="int32", wide=True)]
WideFloats = Annotated[np.ndarray, Stream(per="token", wide=True)]
RowFlags = Annotated[np.ndarray, Stream(per="row", dtype="bool")]
RowFloats = Annotated[np.ndarray, Stream(per="row")]
RowPlaces = Annotated[np.ndarray, Stream(per="row", dtype="int64")]
RowNames = Annotated[Names, Stream(per="row", dtype="str")]
Continuations = Annotated[np.ndarray, Stream(per="token", fill=1.0)]
Costs = Annotated[np.ndarray, Stream(per="token", wide=True, fill=0.0)]
Beyond = Annotated[float, Stream(per="row", fill=0.0)]
Beyonds = Annotated[np.ndarray, Stream(per="row", fill=0.0)]


@functools.cache
def hints_of(record: type, *, notes: bool = True) -> Mapping[str, Any]:
    """The types of a record's fields by name, with what is noted on them, such as a `Stream`, or without."""
    return get_type_hints(record, include_extras=notes)


@functools.cache
def streams_of(record: type) -> Mapping[str, Stream]:
    """The streams that a record has as fields, by name, in the order of the fields."""
    hints = hints_of(record)
    found = {field.name: _declared(hints[field.name]) for field in dataclasses.fields(record)}
    return {name: dataclasses.replace(stream, name=name) for name, stream in found.items() if stream is not None}


def _declared(hint: Any) -> Stream | None:
    """The declaration inside a type such as `TokenFloats` or `TokenFloats | None`; None if the type is no stream."""
    if get_origin(hint) is Annotated:
        return next((note for note in hint.__metadata__ if isinstance(note, Stream)), None)
    return next((stream for part in get_args(hint) if (stream := _declared(part)) is not None), None)


def token_streams(record: Any) -> dict[str, np.ndarray]:
    """The streams with one number for each token that this record has, by name. Fields that are None are left out."""
    found = {name: getattr(record, name) for name, stream in streams_of(type(record)).items() if stream.per == "token"}
    return {name: array for name, array in found.items() if array is not None}


@dataclass(frozen=True, eq=False, kw_only=True)
class Carried:
    """The streams that rows and batches share. A row has them for its answer; packing joins those of all rows.
    They hold the results of forward passes and of the credit phase. A stream that nobody computed is None.
    """

    old: TokenFloats | None = None  # log-prob before the update, under the sampling context; None: take the current one
    ref: TokenFloats | None = None  # the reference's log-prob, under the training context
    value: TokenFloats | None = None  # the critic's value of the state before the token
    target: TokenFloats | None = None  # the value that the critic is to learn for that state
    top_ids: WideIds | None = None  # the likeliest tokens before the first update
    blend_ids: TokenIds | None = None  # a second token for each token. The learner reads a mixture of both embeddings,
    blend_share: TokenFloats | None = None  # (1 - share) e(token) + share e(second), with the current embeddings e
    continues: Continuations | None = None  # kappa: how much of what follows the step counts; None: all, 1
    cost: Costs | None = None  # [T, K] what the step cost, for each of K constraints


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch(Carried):
    """Rows packed for one or several optimiser steps: contexts and responses are laid end to end, without padding."""

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
    outcome: RowFloats | None = None  # the reward of the row; NaN for a row without one
    right: RowFlags | None = None  # the verifier found the answer right
    ended: RowFlags | None = None  # the episode reached its true end
    truncated: RowFlags | None = None  # a limit cut the episode off; a paused one has neither flag
    bootstrap: Beyonds | None = None  # value of the state in which a limit cut the episode off; 0 where none did
    place: RowPlaces | None = None  # where the row stood among all that credit was given; requests may repeat
    version: TokenIds | None = None  # policy version that wrote the token
    sampled: TokenFloats | None = None  # the sampler's log-prob under the full softmax; NaN if it is not known
    mu: TokenFloats | None = None  # the sampler's log-prob under the filtered distribution; NaN if it is not known
    entropy: TokenFloats | None = None  # entropy of the full softmax when the token was sampled; NaN if not known
    seen: WideFloats | None = None  # [M, F] what was observed before the step; None: the policy reads tokens
    action: WideFloats | None = None  # [M, A] what was done, where it is numbers; None: the tokens say it
    generation: Ids | None = None  # contexts of sampling, if any of them differs from the training context
    generation_at: np.ndarray | None = None
    term_weights: Mapping[str, Floats] = field(default_factory=dict)  # [M] of each further loss term, by its name
    constants: Mapping[Stream, np.ndarray] = field(default_factory=dict)  # computed by parts for other parts

    def __len__(self) -> int:
        return len(self.at) - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.at)

    @property
    def moved(self) -> np.ndarray:
        """bool[B]: which rows are trained under another context than the one they were sampled under."""
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
        tokens, at = tokens_of(self.at, rows)
        contexts, context_at = tokens_of(self.context_at, rows)
        changes: dict[str, Any] = {"at": at, "context_at": context_at, "context": self.context[contexts]}
        if self.generation is not None and self.generation_at is not None:
            generation, changes["generation_at"] = tokens_of(self.generation_at, rows)
            changes["generation"] = self.generation[generation]
        indices = {"token": tokens, "row": rows}
        for name, stream in streams_of(type(self)).items():
            if (value := getattr(self, name)) is not None:
                changes[name] = value[indices[stream.per]]
        changes["term_weights"] = {name: value[tokens] for name, value in self.term_weights.items()}
        changes["constants"] = {stream: value[indices[stream.per]] for stream, value in self.constants.items()}
        return dataclasses.replace(self, **changes)


def tokens_of(at: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the tokens of `rows` in a packed array with offsets `at`, and the offsets of the result."""
    lengths = at[rows + 1] - at[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.repeat(at[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
    return indices, offsets
