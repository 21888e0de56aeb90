"""The energy of a token: the squared norm of the gradient of its log-prob by the logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.models import Models
from assay.part import Forward
from assay.streams import Stream
from assay.types import Row, Stats

ENERGY = Stream("energy", per="token", fill=0.0, filled_by="`token-energy` of `forwards`")


def token_energy(rows: Sequence[Row], *, models: Models) -> tuple[list[Row], Stats]:
    """Writes `energy` to the rows that count in their group's statistics, under the sampling context.

    If l is the log-prob at the row's temperature and h that at half of it, sum_v pi(v)^2 = exp(2 l - h) for every
    token: a second forward pass replaces whole distributions.
    """
    from assay.engine.spans import joined, paths_of

    result, total, count = list(rows), 0.0, 0
    for role in dict.fromkeys(row.role for row in rows):
        places = [i for i, row in enumerate(rows) if row.role == role and row.in_group]
        engine, (spans, counts) = models.play(role), paths_of([rows[i].episode for i in places], sampled=True)
        cooler = [replace(span, temperature=span.temperature / 2) for span in spans]
        made = [scores.logp for scores in engine.score([*spans, *cooler])] if spans else []
        whole, half = joined(made[: len(spans)], counts), joined(made[len(spans) :], counts)
        for i, plain, cool in zip(places, whole, half, strict=True):
            logp = plain.astype(np.float64)
            energy = 1 - 2 * np.exp(logp) + np.exp(2 * logp - cool)
            result[i] = rows[i].mark(constants={**rows[i].constants, ENERGY: energy.astype(np.float32)})
            total, count = total + float(energy.sum()), count + len(energy)
    return result, {"policy/energy": total / max(1, count)}


class TokenEnergy(Forward):
    """Measures e_t = 1 - 2 pi(y_t) + sum_v pi(v)^2 with the weights before the first update.

    forwards=(TokenEnergy(),)
    --mechanism.forwards token-energy
    """

    writes = (ENERGY,)
    does = token_energy
