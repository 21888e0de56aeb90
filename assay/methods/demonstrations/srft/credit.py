"""Advantages in groups with a demonstration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Credit, Ddof
from assay.types import Row


def demonstrated(rows: Sequence[Row], *, ddof: int, epsilon: float) -> list[Row]:
    """A = (R - mean_g R) / (std_g R + epsilon) for a demonstration, 0 if all R are equal; +1 or -1 for
    other answers.
    """
    from assay.credit.advantage import group_relative
    from assay.credit.pack import group_numbers

    reward = np.array([row.reward for row in rows], dtype=np.float64)
    compared = group_relative(reward, group_numbers(rows), scale="std", ddof=ddof, epsilon=epsilon)
    signs = [1.0 if row.right else -1.0 for row in rows]
    found = [
        a if row.episode.provenance == "teacher" else sign for row, a, sign in zip(rows, compared, signs, strict=True)
    ]
    return [row.mark(advantage=np.full(len(row.episode), a)) for row, a in zip(rows, found, strict=True)]


class Demonstrated(Credit):
    """A demonstration is compared with its group; the policy's own answers have advantage +1 or -1 (SRFT 2506.19767).

    credit=Demonstrated(epsilon=1e-06)
    --mechanism.credit demonstrated --mechanism.credit.epsilon 1e-06
    """

    ddof: Ddof = 1  # the group's variance is divided by its number of rows minus this
    epsilon: float = 1e-6
    does = demonstrated
    needs_verdict = True
    compares = True
