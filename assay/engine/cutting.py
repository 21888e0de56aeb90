"""How a batch is cut into chunks of whole rows by the number of tokens that the network really runs, and the tensors of
these chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from assay.engine.footprint import SCORE_TOKENS
from assay.engine.interface import Span
from assay.engine.layout import distinct, stems
from assay.streams import token_streams
from assay.types import Batch

if TYPE_CHECKING:
    from torch import Tensor


class Cut(Protocol):
    """Cuts a batch into chunks: `cut`, or another function of this kind."""

    def __call__(self, batch: Batch, *, tokens: int) -> list[np.ndarray]: ...


def cut(batch: Batch, *, tokens: int, shares: bool = False) -> list[np.ndarray]:
    """The row indices of each chunk. A chunk runs at most `tokens` input tokens; a longer row has a chunk of its own.

    Rows that share a context form a group, and a group is divided only if it does not fit: its context is run once a
    chunk. Groups are taken in order of their longest row, so that the rows of a chunk have similar lengths. Every row
    is in exactly one chunk, and the result depends on the batch alone. `shares`: contexts that begin alike have stems
    (see `lay`), which are run once a chunk.
    """
    contexts = [batch.context[a:b] for a, b in zip(batch.context_at[:-1], batch.context_at[1:])]
    which, first = distinct(contexts)
    stem_of, beginnings = stems([contexts[i] for i in first]) if shares else (np.full(len(first), -1), [])
    length = np.maximum(batch.lengths - 1, 0)
    groups: list[np.ndarray] = [np.flatnonzero(which == g) for g in range(int(which.max(initial=-1)) + 1)]
    groups = [g[np.argsort(-length[g], kind="stable")] for g in groups]
    groups.sort(key=lambda g: (-int(length[g[0]]), int(g[0])))
    chunks: list[np.ndarray] = []
    current: list[int] = []
    used = 0
    run: set[int] = set()  # the stems that the current chunk runs
    for group in groups:
        shared, stem = len(contexts[group[0]]), int(stem_of[which[group[0]]])
        more = shared - (len(beginnings[stem]) if stem in run else 0)
        if current and used + more + int(length[group].sum()) > tokens:
            chunks.append(np.array(current))
            current, used, run, more = [], 0, set(), shared
        used += more
        run |= {stem} - {-1}
        alone = not current
        for row in group:
            if used + length[row] > tokens and not alone:
                chunks.append(np.array(current))
                current, used, run = [], shared, {stem} - {-1}
            current.append(int(row))
            used += int(length[row])
            alone = False
    if current:
        chunks.append(np.array(current))
    return chunks


def evenly(cut: Cut, batch: Batch, *, tokens: int, ranks: int) -> list[np.ndarray]:
    """Chunks of at most `tokens` for waves of one chunk for each rank: as many waves as `cut` needs, with chunks no
    larger than these waves need. Otherwise the last wave may leave ranks with nothing, while the others work longer.
    """
    parts = cut(batch, tokens=tokens)
    places = -(-len(parts) // ranks) * ranks
    low, high = 0, tokens  # `high` is enough for so many places, `low` is not
    while high - low > 1:
        middle = (low + high) // 2
        smaller = cut(batch, tokens=middle)
        if len(smaller) <= places:
            parts, high = smaller, middle
        else:
            low = middle
    return parts


def score_parts(spans: Sequence[Span]) -> Iterator[list[int]]:
    """The indices of the spans that are scored together: some thousand tokens, spans of one context together."""
    places = [(span.context.tobytes(), len(span.ids)) for span in spans]
    part: list[int] = []
    used = 0
    for i in sorted(range(len(spans)), key=places.__getitem__):
        context, size = places[i]
        if not part or places[part[-1]][0] != context:
            size += len(spans[i].context)
        if part and used + size > SCORE_TOKENS:
            yield part
            part, used = [], 0
        part.append(i)
        used += size
    if part:
        yield part


def tensors_of(batch: Batch, tensor: Callable[[np.ndarray], Tensor]) -> dict[str, Any]:
    """Everything that a batch has for each token, and the constants of its rows, as the fields of a chunk or of a view.

    `tensor` makes one of an array, where and in which floating-point format it is needed; integers of 32 bits become
    those of 64, by which tensors can be indexed.
    """
    import torch

    def made(array: np.ndarray) -> Tensor:
        result = tensor(array)
        return result.long() if result.dtype == torch.int32 else result

    return {
        "streams": {name: made(array) for name, array in token_streams(batch).items()},
        "term_weights": {name: made(array) for name, array in batch.term_weights.items()},
        "constants": {stream: made(array) for stream, array in batch.constants.items()},
    }
