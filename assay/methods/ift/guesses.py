from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.forwards.spans import forwarded
from assay.models import Models
from assay.part import Forward
from assay.types import Origin, Row, Stats


def guesses(rows: Sequence[Row], *, models: Models, micro_tokens: int, share: float) -> tuple[list[Row], Stats]:
    """argmax pi after the answer's own tokens, by this share in place of each; an environment's stay as they are."""
    from assay.engine.interface import Span, Want

    result = list(rows)
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role]
        episodes = [rows[i].episode for i in places]
        spans = [Span(e.training_context, e.stream("ids").astype(np.int32)) for e in episodes]
        found = forwarded(models.play(role), spans, Want(likeliest=1), "likeliest", tokens=micro_tokens)
        for i, (best,) in zip(places, found, strict=True):
            weight = np.float32(share) * (rows[i].episode.stream("origin") != Origin.ENV)
            result[i] = rows[i].mark(blend_ids=best[:, 0].astype(np.int32), blend_share=weight.astype(np.float32))
    return result, {}


@dataclass(frozen=True)
class Guesses(Forward):
    """Every token of an answer is read blended with the one that the policy would have put there: the residual
    connection of IFT (2405.11870). Guesses are those of the weights before the first update.
    """

    share: float = 0.2
    does = guesses
