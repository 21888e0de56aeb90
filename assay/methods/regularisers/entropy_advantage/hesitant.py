"""Advantages that grow with the entropy of the policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Proportion, Shape
from assay.types import Row


def hesitant(rows: Sequence[Row], *, share: float, kappa: float) -> list[Row]:
    """Adds min(share H_t, |A_t| / kappa); tokens that the policy did not sample keep their advantage."""
    result = []
    for row in rows:
        advantage = np.zeros(len(row.episode)) if row.advantage is None else np.asarray(row.advantage, np.float64)
        entropy = np.nan_to_num(row.episode.stream("entropy").astype(np.float64))
        result.append(row.mark(advantage=advantage + np.minimum(share * entropy, np.abs(advantage) / kappa)))
    return result


class Hesitant(Shape):
    """A_t <- A_t + min(share H_t, |A_t| / kappa), where H is the policy's entropy when the token was sampled
    (2506.14758).

    With kappa > 1 no advantage changes its sign.

        shape=(Hesitant(share=0.4),)
        --mechanism.shape hesitant --mechanism.shape.0.share 0.4
    """

    share: Proportion = 0.4
    kappa: float = 2.0
    does = hesitant
