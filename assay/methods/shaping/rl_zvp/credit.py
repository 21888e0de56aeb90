"""Advantages for groups of equal rewards, by the policy's entropy at each token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.curate.grouping import spread
from assay.errors import DataError
from assay.part import Credit, Ddof
from assay.types import Origin, Row, by_group


def by_certainty(rows: Sequence[Row], *, alpha: float, ddof: int, epsilon: float) -> list[Row]:
    """A_t by the group's rewards: group-relative, alpha H_t, or -alpha (max_t H - H_t); the maximum runs over the
    policy's tokens of the same answer.
    """
    result = list(rows)
    for group in by_group(rows).values():
        rewards = np.array(group.rewards, dtype=np.float64)
        if spread(rewards.tolist()):
            relative = (rewards - rewards.mean()) / (rewards.std(ddof=ddof) + epsilon)
            for i, a in zip(group.places, relative, strict=True):
                result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
            continue
        rights = [row.right for row in group.members]
        for i in group.places:
            advantage = np.zeros(len(rows[i].episode))
            if all(rights):
                advantage = alpha * entropy_of(rows[i])
            elif not any(rights) and rows[i].episode.finish != "length":
                entropy = entropy_of(rows[i])
                advantage = np.where(_written(rows[i]), alpha * (entropy - entropy.max(initial=0.0)), 0.0)
            result[i] = rows[i].mark(advantage=advantage)
    return result


class ByCertainty(Credit):
    """Group-relative if rewards differ; A_t = alpha H_t if all answers are right, -alpha (max_t H - H_t) if all are
    wrong (RL-ZVP 2509.21880).

    H_t is the entropy of the distribution from which token t was drawn. Tokens of high entropy gain most in solved
    groups, tokens of low entropy lose most in failed ones. Elsewhere a group of equal rewards has advantages of 0;
    this part is the exception. In a failed group, answers that the limit cut have A = 0.

        credit=ByCertainty(alpha=0.1)
        --mechanism.credit by-certainty --mechanism.credit.alpha 0.1
    """

    alpha: float = 0.1
    ddof: Ddof = 1  # the group's variance is divided by its number of rows minus this
    epsilon: float = 1e-6  # added to the standard deviation
    does = by_certainty
    needs_verdict = True
    compares = True


def entropy_of(row: Row) -> np.ndarray:
    """float64[T]: the entropy of the distribution before each of the policy's tokens, 0 at other tokens."""
    entropy = np.where(_written(row), row.episode.stream("entropy"), 0.0).astype(np.float64)
    if np.isnan(entropy).any():
        raise DataError(
            f"the entropy of answer {row.episode.request.id} is not known, because its sampler reported none. Take "
            "credit group-relative, which needs none."
        )
    return entropy


def _written(row: Row) -> np.ndarray:
    return row.episode.stream("origin") == Origin.POLICY
