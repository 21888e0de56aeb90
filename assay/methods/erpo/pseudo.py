"""Groups that are all right, compared with a failure that did not happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.credit.imagined import relative_to
from assay.curate.grouping import measure
from assay.part import Credit
from assay.types import Row


def pseudo_failure(rows: Sequence[Row], *, failure: float, ddof: int, epsilon: float) -> list[Row]:
    """A_i = (R_i - mean S) / (std S + epsilon), S the group's rewards, `failure` among them where all are right."""

    def compared(group: Sequence[Row], rewards: np.ndarray) -> np.ndarray:
        solved = all(measure(row, "accuracy") for row in group)
        return np.append(rewards, failure) if solved else rewards

    return relative_to(rows, compared, ddof=ddof, epsilon=epsilon)


@dataclass(frozen=True)
class PseudoFailure(Credit):
    """Group-relative, but a group that is all right is compared with a failure that did not happen (ERPO 2511.04800).

    The declared exception to zero for groups without variance: with G answers of one reward A = 1 / sqrt(G) if ddof
    is 0, 1 / sqrt(G + 1) if it is 1.
    """

    failure: float = 0.0  # reward of the failure
    ddof: int = 1
    epsilon: float = 1e-6
    does = pseudo_failure
