"""The scale gamma of the shaped ratio, from a quantile of the step's ratios."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.models import Models
from assay.part import Forward, Proportion
from assay.streams import Stream
from assay.types import Origin, Row, Stats

GAMMA = Stream("gamma", per="row", filled_by="`ratio-quantile` of `forwards`")


def ratio_quantile(
    rows: Sequence[Row], *, models: Models, tag: str, quantile: float, least: float
) -> tuple[list[Row], Stats]:
    """gamma = max(least, quantile of pi(y | training context) / pi_old(y | sampling context)) over trained tokens."""
    from assay.engine.spans import scored

    kept = [row for row in rows if row.in_loss and row.old is not None and (row.tag or row.episode.request.tag) == tag]
    ratios: list[np.ndarray] = []
    for role in dict.fromkeys(row.role for row in kept):
        mine = [row for row in kept if row.role == role]
        made = scored(models.play(role), [row.episode for row in mine], sampled=False)
        for row, scores in zip(mine, made, strict=True):
            trains = row.episode.stream("origin") == Origin.POLICY
            trains = trains if row.keep is None else trains & row.keep
            ratios.append(np.exp(np.clip(scores.logp - row.old, -20, 20))[trains])
    seen = np.concatenate(ratios) if ratios else np.ones(1)
    gamma = max(least, float(np.quantile(seen, quantile)))
    marked = [row.mark(constants={**row.constants, GAMMA: gamma}) for row in rows]
    return marked, {f"{tag}/gamma": gamma, f"{tag}/ratio": float(seen.mean()), f"{tag}/rows": float(len(kept))}


class RatioQuantile(Forward):
    """Computes gamma, the scale of the shaped ratio, as a quantile of the ratios of the rows with this tag (Guide
    2506.13923).

    There is one gamma a step, and every row carries it, so that mini-batches cannot change it.

        forwards=(RatioQuantile(quantile=0.9),)
        --mechanism.forwards ratio-quantile --mechanism.forwards.0.quantile 0.9
    """

    tag: str = "hint"
    quantile: Proportion = 0.9
    least: float = 1e-4
    writes = (GAMMA,)
    does = ratio_quantile
