"""Advantages of nodes from the values that search backed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.curate.grouping import groups, spread
from assay.part import Credit
from assay.types import Row


def process_relative(rows: Sequence[Row], memory: object) -> list[Row]:
    """A_t = v_t + (R - v_T) - mean_g R, v the row's `process` stream, R itself without one; 0 where all R are equal."""
    result = list(rows)
    for members in groups(rows).values():
        rewards = [rows[i].reward or 0.0 for i in members]
        for i, reward in zip(members, rewards, strict=True):
            value, count = rows[i].process, len(rows[i].episode)
            beyond = np.zeros(count) if value is None or not count else value - value[-1]
            advantage = reward + beyond - np.mean(rewards)
            result[i] = rows[i].mark(advantage=advantage if spread(rewards) else np.zeros(count))
    return result


@dataclass(frozen=True)
class ProcessRelative(Credit):
    """A_t = value of the step - mean of the group's rewards: the last step is worth the reward (DeepSearch)."""

    does = process_relative
    compares = True
