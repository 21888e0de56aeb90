"""Next-token distributions, of which two are compared. Kept are the log-probs of the k likeliest tokens; the
rest of the vocabulary counts as one token.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.engine.spans import forwarded, joined, paths_of
from assay.models import Models
from assay.part import Count, Forward
from assay.types import Episode, Row, Stats

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span

AT_ONCE = 1 << 22  # the most log-probs of whole distributions that one pass computes


def keep_distributions(rows: Sequence[Row], *, models: Models, micro_tokens: int, k: int) -> tuple[list[Row], Stats]:
    """Fills `all_logp` and `top_ids` of the segments of each row, in the context that the row was sampled in."""

    result = list(rows)
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role and _lacks(row.episode)]
        episodes = [rows[i].episode for i in places]
        spans, counts = paths_of(episodes, sampled=True)
        made = likeliest(models.play(role), spans, count=k, tokens=micro_tokens)
        kept = [None] * len(places) if made and made[0][0] is None else joined([ids for ids, _ in made], counts)
        for i, ids, logp in zip(places, kept, joined([logp for _, logp in made], counts), strict=True):
            cuts = np.cumsum([len(segment) for segment in rows[i].episode.segments])[:-1]
            logps = np.split(logp, cuts)
            tops = [None] * len(logps) if ids is None else np.split(ids, cuts)
            segments = tuple(
                dataclasses.replace(segment, all_logp=some, top_ids=top)
                for segment, some, top in zip(rows[i].episode.segments, logps, tops, strict=True)
            )
            result[i] = rows[i].mark(episode=dataclasses.replace(rows[i].episode, segments=segments))
    return result, {}


class Distributions(Forward):
    """Keeps, for each token of an answer, the log-probs of the k likeliest next tokens under the weights of sampling.

    This takes 8 k bytes a token. If the vocabulary has at most k tokens, the whole distribution is kept.

        forwards=(Distributions(k=512),)
        --mechanism.forwards distributions --mechanism.forwards.0.k 512
    """

    k: Count = 512  # number of tokens kept of each distribution
    does = keep_distributions


def _lacks(episode: Episode) -> bool:
    return any(segment.all_logp is None for segment in episode.segments if len(segment))


def likeliest(
    engine: Engine, spans: Sequence[Span], *, count: int, tokens: int
) -> list[tuple[np.ndarray | None, np.ndarray]]:
    """For each span (ids int32[T, count], log-probs [T, count]): the `count` likeliest tokens at each of the T places,
    in the order of their ids. The ids are None if `count` covers the whole vocabulary.
    """
    from assay.engine.interface import Want

    want = Want(likeliest=min(count, engine.vocab))
    result: list[tuple[np.ndarray | None, np.ndarray]] = []
    for ids, logp in forwarded(engine, spans, want, "likeliest", "likeliest_logp", tokens=tokens):
        order = np.argsort(ids, axis=1)
        sorted_ids = np.take_along_axis(ids, order, 1).astype(np.int32)
        sorted_logp = np.take_along_axis(logp, order, 1).astype(np.float32)
        result.append((None if want.likeliest == engine.vocab else sorted_ids, sorted_logp))
    return result


def distributions(engine: Engine, spans: Sequence[Span], *, tokens: int) -> list[np.ndarray]:
    """float32[T, V] for each span: the log-prob of every token of the vocabulary at each of the T places."""
    from assay.engine.interface import Want

    found: list[np.ndarray] = []
    part: list[Span] = []
    for i, span in enumerate(spans):
        part.append(span)
        count = sum(len(one.ids) for one in part)
        if count * engine.vocab >= AT_ONCE or i == len(spans) - 1:
            every = np.tile(np.arange(engine.vocab, dtype=np.int32), (count, 1))
            want = Want(top_ids=True)
            logps = forwarded(engine, part, want, "top_logp", tokens=tokens, top_ids=every)
            found, part = found + [logp.astype(np.float32) for (logp,) in logps], []
    return found
