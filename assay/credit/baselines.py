"""Baselines of a group that are not the mean of its rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.credit.gae import estimate
from assay.credit.pack import earned, trains
from assay.grouping import groups, spread
from assay.part import Part
from assay.types import Origin, Row


@dataclass(frozen=True)
class LengthWeighted(Part):
    """A_i = R_i - sum_g T R / sum_g T (OPO 2505.23585): of least variance if gradients of tokens are orthogonal.

    sum_g T_i A_i = 0: under a mean over tokens, what is pushed up and down balances in every group.
    """


def length_weighted(rows: Sequence[Row]) -> list[Row]:
    """T counts the tokens that train. 0 in a group of equal rewards, and in one without such a token."""
    result = list(rows)
    for members in groups(rows).values():
        reward = np.array([earned(rows[i]) for i in members])
        length = np.array([np.count_nonzero(trains(rows[i])) for i in members])
        known = spread(reward.tolist()) and length.any()
        advantage = reward - (length * reward).sum() / length.sum() if known else np.zeros(len(members))
        for i, a in zip(members, advantage, strict=True):
            result[i] = rows[i].mark(advantage=np.full(len(rows[i].episode), a))
    return result


@dataclass(frozen=True)
class GreedyRelative(Part):
    """A_t = sum_{t' >= t} r_t' - b, b the reward of the group's greedy answer (ReMax 2310.10505). Unbiased."""

    tag: str = "greedy"


def greedy_relative(rows: Sequence[Row], *, tag: str) -> list[Row]:
    """r_t: what `process` says of a token, and the reward on the last that the policy wrote.

    0 for the greedy answer itself, and where an error of ours lost it: without a baseline nothing is pushed.
    """
    result = list(rows)
    for members in groups(rows).values():
        greedy = [i for i in members if (rows[i].tag or rows[i].episode.request.tag) == tag]
        for i in members:
            advantage = np.zeros(len(rows[i].episode))
            mine = np.flatnonzero(rows[i].episode.stream("origin") == Origin.POLICY)
            if greedy and i not in greedy and len(mine):
                reward = np.zeros(len(advantage)) if rows[i].process is None else np.array(rows[i].process, np.float64)
                reward[mine[-1]] += rows[i].reward or 0.0
                returns = estimate(reward[mine], np.zeros(len(mine)), gamma=1.0, lam=1.0)
                advantage[mine] = returns - (rows[greedy[0]].reward or 0.0)
            result[i] = rows[i].mark(advantage=advantage)
    return result
