"""A baseline for each cell: the rows of one task and one role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.curate.grouping import spread
from assay.part import Credit
from assay.types import Origin, Row

Over = Literal["rows", "tokens"]


def cell_relative(rows: Sequence[Row], *, over: Over, epsilon: float) -> list[Row]:
    """A = 0 in a cell whose rewards are all equal. The variance divides by the number of rows (or tokens) less one."""
    result = list(rows)
    cells: dict[tuple[str, str], list[int]] = {}
    for i, row in enumerate(rows):
        cells.setdefault((row.role, row.episode.request.problem.task), []).append(i)
    for members in cells.values():
        reward = np.array([rows[i].reward for i in members], dtype=np.float64)
        sizes = [np.count_nonzero(rows[i].episode.stream("origin") == Origin.POLICY) for i in members]
        weight = np.ones(len(members)) if over == "rows" else np.array(sizes, np.float64)
        advantage = np.zeros(len(members))
        if spread(reward.tolist()) and weight.sum() > 1:
            mean = (weight * reward).sum() / weight.sum()
            variance = (weight * (reward - mean) ** 2).sum() / (weight.sum() - 1)
            advantage = (reward - mean) / np.sqrt(variance + epsilon)
        for i, a in zip(members, advantage, strict=True):
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
    return result


class CellRelative(Credit):
    """A_i = (R_i - mean_c R) / sqrt(var_c R + epsilon), where c is the cell: the rows of one task and one role (TRR++
    of AZR 2505.03335).

        credit=CellRelative(over="rows")
        --mechanism.credit cell-relative --mechanism.credit.over rows
    """

    over: Over = "rows"  # mean and variance are over rows, or over tokens, so that long rows weigh more
    epsilon: float = 1e-8
    does = cell_relative
