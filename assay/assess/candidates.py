"""Which tokens were likeliest where each token was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.assess.distributions import distributions
from assay.models import Models
from assay.part import Part
from assay.types import Row, Stats


@dataclass(frozen=True)
class Candidates(Part):
    """The `k` likeliest tokens at each position under the weights before the first update, and how likely they were."""

    k: int = 3


def candidates(rows: Sequence[Row], *, models: Models, micro_tokens: int, k: int) -> tuple[list[Row], Stats]:
    """`top_ids` of the rows, the likeliest first, under the sampling context. Only for small vocabularies."""
    from assay.engine.interface import Span

    result = list(rows)
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role]
        asked = [(rows[i].episode, rows[i].episode.request) for i in places]
        spans = [Span(r.context, e.stream("ids").astype(np.int32), r.temperature) for e, r in asked]
        for i, every in zip(places, distributions(models.play(role), spans, tokens=micro_tokens), strict=True):
            order = np.argsort(-every, axis=1, kind="stable")[:, :k]
            result[i] = rows[i].mark(top_ids=order.astype(np.int32))
    return result, {}
