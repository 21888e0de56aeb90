"""Forward passes of the learner over spans, for outputs that the sampler does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.types import Batch

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span, Want


def laid(spans: Sequence[Span], **streams: Any) -> Batch:
    """A batch with a row for each span. No token is masked."""
    lengths = np.array([len(span.ids) for span in spans], np.int64)
    count, names = int(lengths.sum()), tuple(str(i) for i in range(len(spans)))
    nothing = np.zeros(0, np.int32)
    return Batch(
        context=np.concatenate([nothing, *(span.context for span in spans)]).astype(np.int32),
        context_at=np.cumsum([0, *(len(span.context) for span in spans)]),
        ids=np.concatenate([nothing, *(span.ids for span in spans)]).astype(np.int32),
        at=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        mask=np.ones(count, bool),
        counted=np.ones(count, bool),
        counted_rows=np.ones(len(spans), bool),
        advantage=np.zeros(count, np.float32),
        origin=np.zeros(count, np.int8),
        temperature=np.array([span.temperature for span in spans], np.float32),
        problem=names,
        request=names,
        group=names,
        **streams,
    )


def distinct(spans: Sequence[Span]) -> tuple[list[Span], list[int]]:
    """The different ones among these spans, and for each span the place of its equal among them.

    Where a number of a span is compared with that of another, equal spans must have one number to the last bit, and two
    passes over the same tokens may round differently.
    """
    places: dict[tuple[bytes, bytes, float], int] = {}
    kept, of = [], []
    for span in spans:
        key = (span.context.tobytes(), span.ids.tobytes(), span.temperature)
        if key not in places:
            places[key] = len(kept)
            kept.append(span)
        of.append(places[key])
    return kept, of


def forwarded(
    engine: Engine, spans: Sequence[Span], want: Want, *names: str, tokens: int, **streams: Any
) -> list[tuple[np.ndarray, ...]]:
    """For each span, the outputs of these names, [T] or [T, K] each, from a pass of the learner without gradients."""
    import torch

    found: list[tuple[np.ndarray, ...]] = [()] * len(spans)
    with torch.no_grad():
        for chunk in engine.chunks(laid(spans, **streams), tokens=tokens) if spans else ():
            out = engine.forward(chunk, want)
            pieces = [np.split(getattr(out, name).cpu().numpy(), chunk.batch.at[1:-1]) for name in names]
            for place, *piece in zip(chunk.rows, *pieces, strict=True):
                found[place] = tuple(piece)
    return found
