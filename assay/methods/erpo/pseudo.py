"""Group-relative advantages in which a solved group is compared with an imaginary failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.curate.grouping import groups, measure, spread
from assay.part import Credit
from assay.types import Row


def pseudo_failure(rows: Sequence[Row], *, failure: float, ddof: int, epsilon: float) -> list[Row]:
    """A_i = (R_i - mean S) / (std S + epsilon), where S holds the group's rewards, and `failure` too if all answers
    are right.
    """
    result = list(rows)
    for members in groups(rows).values():
        rewards = np.array([rows[i].reward for i in members], dtype=np.float64)
        solved = all(measure(rows[i], "accuracy") for i in members)
        compared = np.append(rewards, failure) if solved else rewards
        advantage = np.zeros_like(rewards)
        if spread(compared.tolist()):
            advantage = (rewards - compared.mean()) / (compared.std(ddof=ddof) + epsilon)
        for i, a in zip(members, advantage, strict=True):
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
    return result


@dataclass(frozen=True)
class PseudoFailure(Credit):
    """Group-relative advantages; a group without a mistake is compared with a failure that did not happen (ERPO
    2511.04800).

    Elsewhere a group whose rewards are all equal has advantages of 0; this part is the exception. With G answers of
    equal reward A = 1 / sqrt(G) if ddof is 0, and 1 / sqrt(G + 1) if it is 1.

        credit=PseudoFailure(failure=-1.0)
        --mechanism.credit pseudo-failure --mechanism.credit.failure -1.0
    """

    failure: float = 0.0  # the reward of the imaginary failure
    ddof: int = 1
    epsilon: float = 1e-6
    does = pseudo_failure
