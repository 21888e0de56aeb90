"""Advantages that grow with the entropy of their answer, relative to that of its group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Proportion, Shape
from assay.types import Origin, Row, by_group


def relative_entropy(rows: Sequence[Row], *, bound: float) -> list[Row]:
    """A_i <- A_i clip(H_i / mean_g H, 1 - bound, 1 + bound). A group without entropies stays as it is."""
    result = list(rows)
    for group in by_group(rows).values():
        mean = {i: h for i in group.places if np.isfinite(h := _entropy(rows[i]))}
        middle = float(np.mean(list(mean.values()))) if mean else 0.0
        for i, own in mean.items():
            factor = float(np.clip(own / middle, 1 - bound, 1 + bound)) if middle > 0 else 1.0
            advantage = rows[i].advantage
            result[i] = rows[i] if advantage is None else rows[i].mark(advantage=advantage * factor)
    return result


def _entropy(row: Row) -> float:
    """The mean entropy over the tokens that the policy wrote, when it wrote them; NaN if none is known."""
    entropy = row.episode.stream("entropy")[row.episode.stream("origin") == Origin.POLICY]
    return float(np.nanmean(entropy)) if np.isfinite(entropy).any() else float("nan")


class RelativeEntropy(Shape):
    """A_i <- A_i clip(H_i / mean_g H, 1 - bound, 1 + bound): answers that the policy was sure of move it less
    (ETTRL 2508.11356, the form is ours).

        shape=(RelativeEntropy(bound=0.2),)
        --mechanism.shape relative-entropy --mechanism.shape.0.bound 0.2
    """

    bound: Proportion = 0.2  # the largest relative change of an advantage; more than 1 would turn advantages round
    does = relative_entropy
