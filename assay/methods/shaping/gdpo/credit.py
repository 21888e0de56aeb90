"""Several rewards, each divided by its own standard deviation before they are added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.curate.grouping import spread
from assay.errors import ConfigError
from assay.part import Credit, Ddof
from assay.types import Row, by_group


def per_reward(rows: Sequence[Row], *, weights: Sequence[float], ddof: int, epsilon: float) -> list[Row]:
    """The sum of normalised rewards. A reward adds 0 if it is the same in all of the group, or to answers that it does
    not apply to.
    """
    paid_for = [[p for p in r.episode.rewards if p.scope == "episode" and not p.unread] for r in rows]
    earned = [{part.name: part.value for part in parts} for parts in paid_for]
    names = list(dict.fromkeys(name for parts in sorted(earned, key=len, reverse=True) for name in parts))
    if weights and len(weights) != len(names):
        raise ConfigError(
            f"credit.weights: {len(weights)} weights came for {len(names)} rewards ({', '.join(names)}); give one "
            "weight for each reward."
        )
    total = np.zeros(len(rows))
    for name, weight in zip(names, weights or [1.0] * len(names), strict=True):
        for group in by_group(rows).values():
            paid = [i for i in group.places if name in earned[i]]
            r = np.array([earned[i][name] for i in paid], dtype=np.float64)
            if spread(r.tolist()):
                total[paid] += weight * (r - r.mean()) / (r.std(ddof=ddof) + epsilon)
    return [row.mark(advantage=np.full(len(row.episode), a)) for row, a in zip(rows, total, strict=True)]


class PerReward(Credit):
    """A_i = sum_n w_n (r_in - mean_g r_n) / (std_g r_n + epsilon), over the named rewards n (GDPO 2601.05242).

    The weights w multiply normalised rewards, so a factor inside a reward function has no effect.

        credit=PerReward(epsilon=1e-06)
        --mechanism.credit per-reward --mechanism.credit.epsilon 1e-06
    """

    weights: tuple[float, ...] = ()  # one weight for each reward, in the recipe's order; empty: 1 for each
    ddof: Ddof = 1  # the group's variance is divided by its number of rows minus this
    epsilon: float = 1e-6
    does = per_reward
    compares = True
