"""The advantage of each token."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import numpy as np

from assay.part import Credit, Proportion
from assay.types import Row, by_group


def shrunk(rows: Sequence[Row], *, share: float) -> list[Row]:
    """A = (1 - share) (R - mean R), the mean over the answers of the group that have a reward."""
    groups = by_group([row for row in rows if row.in_group and row.reward is not None])
    means = {name: mean(reward for reward in group.rewards if reward is not None) for name, group in groups.items()}

    def advantage(row: Row) -> np.ndarray | None:
        if row.reward is None or row.group not in means:
            return None
        return np.full(len(row.episode), (1 - share) * (row.reward - means[row.group]))

    return [row.mark(advantage=advantage(row)) for row in rows]


class MyMethod(Credit):
    """Fill in: how advantages are estimated (and the arXiv id). Here rewards less the mean of their group."""

    share: Proportion = 0.0  # by which advantages are smaller
    compares = True
    does = shrunk
