"""Advantages that grow where the policy hesitates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.part import Shape
from assay.types import Row


def hesitant(rows: Sequence[Row], *, share: float, kappa: float) -> list[Row]:
    """Tokens that nobody sampled keep theirs."""
    result = []
    for row in rows:
        advantage = np.zeros(len(row.episode)) if row.advantage is None else np.asarray(row.advantage, np.float64)
        entropy = np.nan_to_num(row.episode.stream("entropy").astype(np.float64))
        result.append(row.mark(advantage=advantage + np.minimum(share * entropy, np.abs(advantage) / kappa)))
    return result


@dataclass(frozen=True)
class Hesitant(Shape):
    """A_t <- A_t + min(share H_t, |A_t| / kappa), H the entropy when the token was sampled (2506.14758).

    With kappa > 1 no advantage changes its sign.
    """

    share: float = 0.4
    kappa: float = 2.0
    does = hesitant
