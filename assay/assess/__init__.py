"""The forwards that rows need before the first update of the step: old, reference, and what a recipe's parts add."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.models import Models
from assay.objective import Objective
from assay.part import Registry
from assay.types import Row

ASSESSORS: Registry = {}

Assessor = Callable[[Sequence[Row], Models], list[Row]]


def assess(
    models: Models, rows: Sequence[Row], *, objective: Objective, num_updates: int, parts: Sequence[Assessor] = ()
) -> list[Row]:
    """Fills `old` and `ref` of the rows that go to the learner.

    With one update of what the current weights have just written the ratio is 1 by definition and no pass is spent.
    Otherwise old is the sampler's where sampler and learner agree bit for bit, and is computed here where not.
    """
    kept = [i for i, row in enumerate(rows) if row.in_loss or row.in_denominator]
    result = list(rows)
    if num_updates > 1 or _stale(rows, models):
        _fill(result, kept, models, stream="old")
    if objective.needs_reference:
        _fill(result, kept, models, stream="ref")
    for part in parts:
        result = part(result, models)
    return result


def _stale(rows: Sequence[Row], models: Models) -> bool:
    return any(
        segment.old is not None and segment.version != models.play(row.episode.request.role).version
        for row in rows
        for segment in row.episode.segments
    )


def _fill(rows: list[Row], kept: Sequence[int], models: Models, *, stream: str) -> None:
    from assay.engine.interface import Span

    for role in dict.fromkeys(rows[i].episode.request.role for i in kept):
        places = [i for i in kept if rows[i].episode.request.role == role and getattr(rows[i], stream) is None]
        player = models.play(role)
        if stream == "old" and player.exact:
            for i in places:
                rows[i] = rows[i].mark(old=np.concatenate([s.old for s in rows[i].episode.segments]))
            continue
        engine = player if stream == "old" else models["reference"]
        spans = []
        for i in places:
            episode = rows[i].episode
            # the denominator of a ratio belongs to the context that was sampled under, a reference to the trained one
            context = episode.request.context if stream == "old" else episode.training_context
            ids = np.concatenate([segment.ids for segment in episode.segments])
            spans.append(Span(context, ids, episode.request.temperature))
        for i, scores in zip(places, engine.score(spans), strict=True):
            rows[i] = rows[i].mark(**{stream: scores.logp})
