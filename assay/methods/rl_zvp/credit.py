"""Groups without differences, pushed by how certain the policy was of each token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.curate.grouping import groups, spread
from assay.errors import DataError
from assay.part import Credit
from assay.types import Origin, Row


def by_certainty(rows: Sequence[Row], *, alpha: float, ddof: int, epsilon: float) -> list[Row]:
    """The maximum is over the policy's tokens of the same answer."""
    result = list(rows)
    for members in groups(rows).values():
        rewards = np.array([rows[i].reward for i in members], dtype=np.float64)
        if spread(rewards.tolist()):
            relative = (rewards - rewards.mean()) / (rewards.std(ddof=ddof) + epsilon)
            for i, a in zip(members, relative, strict=True):
                result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
            continue
        rights = [rows[i].episode.right for i in members]
        for i in members:
            advantage = np.zeros(len(rows[i].episode))
            if all(rights):
                advantage = alpha * entropy_of(rows[i])
            elif not any(rights) and rows[i].episode.finish != "length":
                entropy = entropy_of(rows[i])
                advantage = np.where(_written(rows[i]), alpha * (entropy - entropy.max(initial=0.0)), 0.0)
            result[i] = rows[i].mark(advantage=advantage)
    return result


@dataclass(frozen=True)
class ByCertainty(Credit):
    """Group-relative where rewards differ. Where all are right A_t = alpha H_t, where all are wrong A_t = -alpha
    (max_t H - H_t), H_t the entropy of what token t was drawn from (RL-ZVP 2509.21880).

    The declared exception to zero for groups without variance: uncertain tokens of solved problems are encouraged
    most, certain ones of failed problems discouraged most. What a limit cut is left alone where all are wrong.

        credit=ByCertainty(alpha=0.1)
        --mechanism.credit by-certainty --mechanism.credit.alpha 0.1
    """

    alpha: float = 0.1
    ddof: int = 1
    epsilon: float = 1e-6
    does = by_certainty
    compares = True


def entropy_of(row: Row) -> np.ndarray:
    """float64[T]: of the distribution before each of the policy's tokens, 0 at those of others."""
    known = row.episode.stream("entropy") if row.entropy is None else row.entropy
    entropy = np.where(_written(row), known, 0.0).astype(np.float64)
    if np.isnan(entropy).any():
        raise DataError(
            f"the entropy of answer {row.episode.request.id} is not known: its sampler gave none. Take credit "
            "group-relative, which needs none."
        )
    return entropy


def _written(row: Row) -> np.ndarray:
    return row.episode.stream("origin") == Origin.POLICY
