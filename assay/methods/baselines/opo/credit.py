"""A baseline that weighs rewards by the lengths of their answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.pack import earned, trains
from assay.curate.grouping import spread
from assay.part import Credit
from assay.types import Row, by_group


def length_weighted(rows: Sequence[Row]) -> list[Row]:
    """A = R - sum T R / sum T; T counts the tokens that train. A = 0 in a group of equal rewards, or without such
    tokens.
    """
    result = list(rows)
    for group in by_group(rows).values():
        reward = np.array([earned(row) for row in group.members])
        length = np.array([np.count_nonzero(trains(row)) for row in group.members])
        known = spread(reward.tolist()) and length.any()
        advantage = reward - (length * reward).sum() / length.sum() if known else np.zeros(len(group.members))
        for i, a in zip(group.places, advantage, strict=True):
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
    return result


class LengthWeighted(Credit):
    """A_i = R_i - sum_g T R / sum_g T (OPO 2505.23585), the baseline of least variance if the gradients of tokens are
    orthogonal.

    sum_g T_i A_i = 0: under a mean over tokens, the pushes up and down in each group add up to 0.

        credit=LengthWeighted()
        --mechanism.credit length-weighted
    """

    does = length_weighted
    compares = True
