"""Spans as a batch, for outputs that only a forward pass of the learner has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.types import Batch

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span, Want


def laid(spans: Sequence[Span], **streams: Any) -> Batch:
    """A row for each span, in which nothing is masked."""
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


def forwarded(engine: Engine, spans: Sequence[Span], want: Want, name: str, *, tokens: int) -> list[np.ndarray]:
    """What a pass of the learner without a graph gives under this name, [T] for each span."""
    import torch

    found = [np.zeros(0, np.float32)] * len(spans)
    with torch.no_grad():
        for chunk in engine.chunks(laid(spans), tokens=tokens) if spans else ():
            stream = getattr(engine.forward(chunk, want), name)
            pieces = np.split(stream.cpu().numpy(), chunk.batch.at[1:-1])
            for place, piece in zip(chunk.rows, pieces, strict=True):
                found[place] = piece
    return found
