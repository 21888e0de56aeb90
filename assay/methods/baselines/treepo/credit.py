"""Advantages by comparison with the answers that share a beginning, at every length of the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.credit.pack import earned
from assay.credit.pieces import pieces
from assay.curate.grouping import spread
from assay.part import Credit
from assay.types import Row, by_group


def ancestor_means(rows: Sequence[Row], *, weigh: str) -> list[Row]:
    """A_i = sum_d w_d (R_i - mean of R over the leaves below the ancestor of i at depth d) / sum_d w_d, over the
    ancestors with two leaves or more, the root included; w_d = 1, or the number of these leaves. 0 if all R are equal.
    """
    result = list(rows)
    for group in by_group(rows).values():
        reward = np.array([earned(row) for row in group.members], np.float64)
        for i, path, value in zip(group.places, pieces(group.members), reward, strict=True):
            below = [range(len(reward)), *(piece.leaves for piece in path if len(piece.leaves) > 1)]
            weight = [1.0 if weigh == "depth" else float(len(leaves)) for leaves in below]
            centred = [value - reward[list(leaves)].mean() for leaves in below]
            found = float(np.average(centred, weights=weight)) if spread(reward.tolist()) else 0.0
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), found))
    return result


class AncestorMeans(Credit):
    """An answer is compared with the whole group and with the answers below each of its ancestors in the tree (TreePO
    2508.17445).

        credit=AncestorMeans(weigh="depth")
        --mechanism.credit ancestor-means --mechanism.credit.weigh depth
    """

    weigh: Literal["depth", "size"] = "depth"  # all ancestors alike, or by the number of their leaves
    does = ancestor_means
    compares = True
