"""The mean log-prob over the vocabulary at each position, before the update."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.engine.spans import forwarded
from assay.models import Models
from assay.part import Forward
from assay.streams import Stream
from assay.types import Row, Stats

MEAN_LOGP = Stream("mean_logp", per="token", filled_by="`mean-log-prob` of `forwards`")


def keep_mean_log_prob(rows: Sequence[Row], *, models: Models, micro_tokens: int) -> tuple[list[Row], Stats]:
    """Stores mean_v log pi_old(v) at each position, under the sampling context."""
    from assay.engine.interface import Span, Want

    result = list(rows)
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role and row.old is not None]
        episodes = [rows[i].episode for i in places]
        spans = [Span(e.request.context, e.stream("ids").astype(np.int32), e.request.temperature) for e in episodes]
        found = forwarded(models.play(role), spans, Want(mean_logp=True), "mean_logp", tokens=micro_tokens)
        for i, (mean,) in zip(places, found, strict=True):
            result[i] = rows[i].mark(constants={**rows[i].constants, MEAN_LOGP: mean.astype(np.float32)})
    return result, {}


class MeanLogProb(Forward):
    """Stores the mean log-prob over the vocabulary at each position before the update.

    The part does nothing for rows whose old log-probs are not needed: with one update, the old policy is the current
    one.

        forwards=(MeanLogProb(),)
        --mechanism.forwards mean-log-prob
    """

    writes = (MEAN_LOGP,)
    does = keep_mean_log_prob
    needs = ("texts",)
