"""Groups compared with answers that nobody gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.curate.grouping import groups, spread
from assay.types import Row


def relative_to(
    rows: Sequence[Row],
    compared: Callable[[Sequence[Row], np.ndarray], np.ndarray],
    *,
    ddof: int,
    epsilon: float,
) -> list[Row]:
    """A_i = (R_i - mean S) / (std S + epsilon), S what `compared` makes of the rows of a group and of their rewards; 0
    where all of S is alike.
    """
    result = list(rows)
    for members in groups(rows).values():
        mine = [rows[i] for i in members]
        rewards = np.array([row.reward for row in mine], dtype=np.float64)
        others = compared(mine, rewards)
        advantage = np.zeros_like(rewards)
        if spread(others.tolist()):
            advantage = (rewards - others.mean()) / (others.std(ddof=ddof) + epsilon)
        for i, a in zip(members, advantage, strict=True):
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
    return result
