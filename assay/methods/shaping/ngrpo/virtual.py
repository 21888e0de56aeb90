"""Group-relative advantages in which each group has virtual answers of the best reward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.imagined import relative_to
from assay.errors import ConfigError
from assay.part import Credit, Ddof
from assay.types import Row


def virtual_best(rows: Sequence[Row], *, best: float, count: int, ddof: int, epsilon: float) -> list[Row]:
    """A_i = (R_i - mean S) / (std S + epsilon), where S holds the group's rewards and `count` times `best`."""

    def compared(group: Sequence[Row], rewards: np.ndarray) -> np.ndarray:
        if rewards.max() > best + 1e-6:
            raise ConfigError(
                f"credit.best must be the highest possible reward; it is {best:g}, and an answer earned "
                f"{rewards.max():g}. Set it to the highest sum of all parts of the reward."
            )
        return np.append(rewards, np.full(count, best))

    return relative_to(rows, compared, ddof=ddof, epsilon=epsilon)


class VirtualBest(Credit):
    """Group-relative advantages with `count` virtual answers of reward `best`, which do not train (NGRPO 2509.18851).

    Elsewhere a group whose rewards are all equal has advantages of 0; this part is the exception. With one virtual
    answer and ddof 1, G answers of equal reward below `best` have A = -1 / sqrt(G + 1).

        credit=VirtualBest(best=1.0)
        --mechanism.credit virtual-best --mechanism.credit.best 1.0
    """

    best: float = 1.0  # the highest possible reward
    count: int = 1
    ddof: Ddof = 1
    epsilon: float = 1e-6
    does = virtual_best
    compares = True
