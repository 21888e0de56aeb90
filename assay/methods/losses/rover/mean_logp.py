"""The mean log-prob over the vocabulary at each position, before the update."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.engine.spans import read_again
from assay.models import Models
from assay.part import Forward
from assay.streams import Stream
from assay.types import Row, Stats

MEAN_LOGP = Stream("mean_logp", per="token", filled_by="`mean-log-prob` of `forwards`")


def keep_mean_log_prob(rows: Sequence[Row], *, models: Models, micro_tokens: int) -> tuple[list[Row], Stats]:
    """Stores mean_v log pi_old(v) at each position, under the sampling context."""
    from assay.engine.interface import Want

    result = list(rows)
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role and row.old is not None]
        episodes = [rows[i].episode for i in places]
        want, engine = Want(mean_logp=True), models.play(role)
        found = read_again(engine, episodes, want, "mean_logp", sampled=True, tokens=micro_tokens)
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
