"""Whole next-token distributions, for methods that compare two of them. Only small vocabularies can afford them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.assess.spans import laid
from assay.errors import ConfigError
from assay.models import Models
from assay.part import Part
from assay.types import Episode, Row, Stats

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
    every = np.tile(np.arange(engine.vocab, dtype=np.int32), (sum(len(span.ids) for span in spans), 1))
    batch, found = laid(spans, top_ids=every), [np.zeros((0, engine.vocab), np.float32)] * len(spans)
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
