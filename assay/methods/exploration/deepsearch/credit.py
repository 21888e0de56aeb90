"""Advantages from the values of steps that the search backed up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.curate.grouping import spread
from assay.part import Credit
from assay.types import Row, by_group


def process_relative(rows: Sequence[Row], memory: object) -> list[Row]:
    """A_t = v_t + (R - v_T) - mean_g R, where v is the row's `process` stream, or R where it has none; 0 if all R are
    equal.
    """
    result = list(rows)
    for group in by_group(rows).values():
        rewards = [row.reward or 0.0 for row in group.members]
        for i, reward in zip(group.places, rewards, strict=True):
            value, count = rows[i].process, len(rows[i].episode)
            beyond = np.zeros(count) if value is None or not count else value - value[-1]
            advantage = reward + beyond - np.mean(rewards)
            result[i] = rows[i].mark(advantage=advantage if spread(rewards) else np.zeros(count))
    return result


class ProcessRelative(Credit):
    """A_t = value of the token's step - mean reward of the group; the last step has the reward as its value
    (DeepSearch).

        credit=ProcessRelative()
        --mechanism.credit process-relative
    """

    does = process_relative
    compares = True
