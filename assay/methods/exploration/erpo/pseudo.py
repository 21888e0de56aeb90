"""Group-relative advantages in which a solved group is compared with an imaginary failure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.imagined import relative_to
from assay.part import Credit, Ddof
from assay.types import Row


def pseudo_failure(rows: Sequence[Row], *, failure: float, ddof: int, epsilon: float) -> list[Row]:
    """A_i = (R_i - mean S) / (std S + epsilon), where S holds the group's rewards, and `failure` too if all answers
    are right.
    """

    def compared(group: Sequence[Row], rewards: np.ndarray) -> np.ndarray:
        solved = all(row.right for row in group)
        return np.append(rewards, failure) if solved else rewards

    return relative_to(rows, compared, ddof=ddof, epsilon=epsilon)


class PseudoFailure(Credit):
    """Group-relative advantages; a group without a mistake is compared with a failure that did not happen (ERPO
    2511.04800).

    Elsewhere a group whose rewards are all equal has advantages of 0; this part is the exception. With G answers of
    equal reward A = 1 / sqrt(G) if ddof is 0, and 1 / sqrt(G + 1) if it is 1.

        credit=PseudoFailure(failure=-1.0)
        --mechanism.credit pseudo-failure --mechanism.credit.failure -1.0
    """

    failure: float = 0.0  # the reward of the imaginary failure
    ddof: Ddof = 1
    epsilon: float = 1e-6
    does = pseudo_failure
    needs_verdict = True
