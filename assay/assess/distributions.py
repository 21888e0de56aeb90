"""Whole next-token distributions, for methods that compare two of them. Only small vocabularies can afford them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError
from assay.models import Models
from assay.part import Part
from assay.types import Batch, Episode, Row, Stats

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span

LARGEST = 512


@dataclass(frozen=True)
class Distributions(Part):
    """Every token of an answer keeps the distribution that it was drawn from, before the weights move."""


def keep_distributions(rows: Sequence[Row], *, models: Models, micro_tokens: int) -> tuple[list[Row], Stats]:
    """`all_logp` of the segments of each row, under the context that was sampled under."""
    from assay.engine.interface import Span

    result = list(rows)
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role and _lacks(row.episode)]
        episodes = [rows[i].episode for i in places]
        spans = [Span(e.request.context, e.stream("ids").astype(np.int32), e.request.temperature) for e in episodes]
        for i, every in zip(places, distributions(models.play(role), spans, tokens=micro_tokens), strict=True):
            cuts = np.cumsum([len(segment) for segment in rows[i].episode.segments])[:-1]
            pieces = zip(rows[i].episode.segments, np.split(every, cuts), strict=True)
            segments = tuple(dataclasses.replace(segment, all_logp=piece) for segment, piece in pieces)
            result[i] = rows[i].mark(episode=dataclasses.replace(rows[i].episode, segments=segments))
    return result, {}


def _lacks(episode: Episode) -> bool:
    return any(segment.all_logp is None for segment in episode.segments if len(segment))


def distributions(engine: Engine, spans: Sequence[Span], *, tokens: int) -> list[np.ndarray]:
    """float32[T, V] for each span: the log-prob of every token where each of its own stands."""
    import torch

    from assay.engine.interface import Want

    if engine.vocab > LARGEST:
        raise ConfigError(
            f"whole distributions are kept for vocabularies of at most {LARGEST} tokens, and this model has "
            f"{engine.vocab}. Take what does without them: for drafts, --mechanism.augment.0.residual no and "
            "--mechanism.assess none."
        )
    batch, found = _laid(spans, engine.vocab), [np.zeros((0, engine.vocab), np.float32)] * len(spans)
    if len(batch) == 0:
        return found
    with torch.no_grad():
        for chunk in engine.chunks(batch, tokens=tokens):
            top = engine.forward(chunk, Want(top_ids=True)).top_logp
            assert top is not None
            pieces = np.split(top.float().cpu().numpy(), chunk.batch.at[1:-1])
            for row, piece in zip(chunk.rows, pieces, strict=True):
                found[row] = piece
    return found


def _laid(spans: Sequence[Span], vocab: int) -> Batch:
    """The spans as rows that ask for every token of the vocabulary."""
    lengths = np.array([len(span.ids) for span in spans], np.int64)
    count, names = int(lengths.sum()), tuple(str(i) for i in range(len(spans)))
    return Batch(
        context=np.concatenate([np.zeros(0, np.int32), *(span.context for span in spans)]).astype(np.int32),
        context_at=np.cumsum([0, *(len(span.context) for span in spans)]),
        ids=np.concatenate([np.zeros(0, np.int32), *(span.ids for span in spans)]).astype(np.int32),
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
        top_ids=np.tile(np.arange(vocab, dtype=np.int32), (count, 1)),
    )
