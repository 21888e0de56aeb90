"""Advantages relative to a set of rewards that contains imagined answers: no policy gave them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.curate.grouping import spread
from assay.types import Row, by_group


def relative_to(
    rows: Sequence[Row],
    compared: Callable[[Sequence[Row], np.ndarray], np.ndarray],
    *,
    ddof: int,
    epsilon: float,
) -> list[Row]:
    """A_i = (R_i - mean S) / (std S + epsilon); 0 if all rewards of S are equal. `compared` gives the rewards S for the
    rows of a group and their rewards.
    """
    result = list(rows)
    for group in by_group(rows).values():
        rewards = np.array(group.rewards, dtype=np.float64)
        others = compared(group.members, rewards)
        advantage = np.zeros_like(rewards)
        if spread(others.tolist()):
            advantage = (rewards - others.mean()) / (others.std(ddof=ddof) + epsilon)
        for i, a in zip(group.places, advantage, strict=True):
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
    return result
