"""The likeliest tokens at each position when the answer was sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.engine.spans import read_again
from assay.models import Models
from assay.part import Count, Forward
from assay.types import Row, Stats


def candidates(rows: Sequence[Row], *, models: Models, micro_tokens: int, k: int) -> tuple[list[Row], Stats]:
    """Writes `top_ids` to the rows, the likeliest token first, under the sampling context."""
    from assay.engine.interface import Want

    result = list(rows)
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role]
        engine, episodes = models.play(role), [rows[i].episode for i in places]
        want = Want(likeliest=min(k, engine.vocab))
        made = read_again(engine, episodes, want, "likeliest", sampled=True, tokens=micro_tokens)
        for i, (ids,) in zip(places, made, strict=True):
            result[i] = rows[i].mark(top_ids=ids.astype(np.int32))
    return result, {}


class Candidates(Forward):
    """Stores the `k` likeliest tokens at each position, with their log-probs, under the weights before the first
    update.

        forwards=(Candidates(k=3),)
        --mechanism.forwards candidates --mechanism.forwards.0.k 3
    """

    k: Count = 3
    does = candidates
    needs = ("texts",)
