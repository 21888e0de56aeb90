"""Groups compared with the best answer that there could have been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.curate.grouping import groups, spread
from assay.errors import ConfigError
from assay.part import Credit
from assay.types import Row


def virtual_best(rows: Sequence[Row], *, best: float, count: int, ddof: int, epsilon: float) -> list[Row]:
    """A_i = (R_i - mean S) / (std S + epsilon), S the group's rewards and `count` times `best`."""
    result = list(rows)
    for members in groups(rows).values():
        rewards = np.array([rows[i].reward for i in members], dtype=np.float64)
        if rewards.max() > best + 1e-6:
            raise ConfigError(
                f"credit.best is the highest reward that there is, {best:g}, and an answer earned {rewards.max():g}. "
                "Set it to the top of the whole reward, all parts together."
            )
        compared = np.append(rewards, np.full(count, best))
        advantage = np.zeros_like(rewards)
        if spread(compared.tolist()):
            advantage = (rewards - compared.mean()) / (compared.std(ddof=ddof) + epsilon)
        for i, a in zip(members, advantage, strict=True):
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
    return result


@dataclass(frozen=True)
class VirtualBest(Credit):
    """Group-relative with `count` answers more, worth `best` each, which are not trained (NGRPO 2509.18851).

    The declared exception to zero for groups without variance: with one more and ddof 1, G answers that are all worth
    the same and less than `best` get -1 / sqrt(G + 1).

        credit=VirtualBest(best=1.0)
        --mechanism.credit virtual-best --mechanism.credit.best 1.0
    """

    best: float = 1.0  # the highest reward that there is
    count: int = 1
    ddof: int = 1
    epsilon: float = 1e-6
    does = virtual_best
    compares = True
