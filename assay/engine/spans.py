"""Forward passes of the learner over spans, for outputs that the sampler does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.streams import Floats, Ids, Names
from assay.types import Batch, Episode

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span, Want

NOTHING = 0  # the token behind what is read, which the model does not read


def span_of(episode: Episode, context: Ids | None = None) -> Span:
    """An episode's answer as a continuation of its training context, or of another one."""
    from assay.engine.interface import Span

    ids = episode.stream("ids").astype(np.int32, copy=False)
    context = episode.training_context if context is None else context
    return Span(context, ids, episode.request.temperature, episode.known("seen"), episode.known("action"))


def longer(span: Span, after: Floats | None = None) -> Span:
    """The span with a token behind it, before which `after` was seen. The value head gives the value before each token:
    here that is the value after the last token of the span.
    """
    from assay.engine.interface import Span

    ids, still = np.append(span.ids, np.int32(NOTHING)), None if span.action is None else np.zeros_like(span.action[-1])
    return Span(span.context, ids, span.temperature, _behind(span.seen, after), _behind(span.action, still))


def _behind(stream: Floats | None, last: Floats | None) -> Floats | None:
    return None if stream is None or last is None else np.concatenate([stream, last[None]])


def laid(spans: Sequence[Span], **streams: Any) -> Batch:
    """A batch with a row for each span. No token is masked."""
    lengths = np.array([len(span.ids) for span in spans], np.int64)
    count, names = int(lengths.sum()), Names.of(str(i) for i in range(len(spans)))
    nothing = np.zeros(0, np.int32)
    for name in ("seen", "action"):
        if any(getattr(span, name) is not None for span in spans):
            streams[name] = np.concatenate([getattr(span, name) for span in spans])
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
