"""The reward of the greedy answer as the baseline of its group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.gae import estimate
from assay.part import Credit
from assay.types import Origin, Row, by_group


def greedy_relative(rows: Sequence[Row], *, tag: str) -> list[Row]:
    """A_t = sum_{t' >= t} r_t' - b; r_t is the `process` stream, and at the last token of the policy also the reward.

    A = 0 for the greedy answer itself, and for a group whose greedy answer an error of ours lost: there is no
    baseline.
    """
    result = list(rows)
    for group in by_group(rows).values():
        greedy = [i for i in group.places if (rows[i].tag or rows[i].episode.request.tag) == tag]
        for i in group.places:
            advantage = np.zeros(len(rows[i].episode))
            mine = np.flatnonzero(rows[i].episode.stream("origin") == Origin.POLICY)
            if greedy and i not in greedy and len(mine):
                reward = np.zeros(len(advantage)) if rows[i].process is None else np.array(rows[i].process, np.float64)
                reward[mine[-1]] += rows[i].reward or 0.0
                returns = estimate(reward[mine], np.zeros(len(mine)), gamma=1.0, lam=1.0)
                advantage[mine] = returns - (rows[greedy[0]].reward or 0.0)
            result[i] = rows[i].mark(advantage=advantage)
    return result


class GreedyRelative(Credit):
    """A_t = sum_{t' >= t} r_t' - b, where b is the reward of the group's greedy answer (ReMax 2310.10505); unbiased.

    credit=GreedyRelative(tag="greedy")
    --mechanism.credit greedy-relative --mechanism.credit.tag greedy
    """

    tag: str = "greedy"  # the tag of the answers whose reward is the baseline
    does = greedy_relative
