"""Credit over families: problems that are variants of one problem, each with a group of answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.pack import earned
from assay.part import Credit
from assay.types import Group, Row, by_group, changed


def rank_mean(rows: Sequence[Row], *, epsilon: float) -> list[Row]:
    """A_j,i = (m_j,i - mean_c R) / (std_c R + epsilon), m_j,i the mean over the variants j of the i-th highest reward.

    mean_c and std_c (of the population) are over all answers to the variants of problem c; A = 0 if their rewards are
    equal. Answers of one group with equal rewards share the mean of their ranks. Groups of different sizes are compared
    rank for rank as shares of their size.
    """
    families: dict[str, list[Group[Row]]] = {}
    for name, group in by_group(rows).items():
        parent = next(iter(group.members[0].episode.request.problem.parents), f"group {name}")
        families.setdefault(parent, []).append(group)
    advantages = np.zeros(len(rows))
    for groups in families.values():
        rewards = [np.array([earned(row) for row in group.members], np.float64) for group in groups]
        flat = np.concatenate(rewards)
        if flat.max() - flat.min() > 1e-6 * max(1.0, np.abs(flat).max()):
            for group, mean in zip(groups, rank_means(rewards), strict=True):
                advantages[group.places] = (mean - flat.mean()) / (flat.std() + epsilon)
    return [
        changed(row, advantage=np.full(len(row.episode), value)) for row, value in zip(rows, advantages, strict=True)
    ]


def rank_means(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For each answer of each group, the mean over the groups of the rewards at its rank.

    With C(t) the mean over the groups of what the highest t of their rewards add up to, as a share of the group's size,
    rank i of n is worth n (C(i/n) - C((i-1)/n)).
    """
    sums = [np.concatenate([[0.0], np.cumsum(np.sort(r)[::-1])]) / len(r) for r in groups]

    def highest(shares: np.ndarray) -> np.ndarray:
        return np.mean([np.interp(shares, np.linspace(0, 1, len(each)), each) for each in sums], axis=0)

    means = []
    for rewards in groups:
        worth = np.diff(highest(np.linspace(0, 1, len(rewards) + 1))) * len(rewards)
        ranks = np.argsort(np.argsort(-rewards, kind="stable"), kind="stable")
        shared = worth[ranks]
        for value in np.unique(rewards):  # answers with equal rewards have no order of their own
            equal = rewards == value
            shared[equal] = shared[equal].mean()
        means.append(shared)
    return means


class RankMean(Credit):
    """Compares the answers to all variants of a problem: the i-th best answer to any variant is worth the mean of the
    i-th best of all (We-Math 2.0, 2508.10433).

    A problem that is no variant is compared as in GRPO, with the standard deviation of the population.

        source=Variants(), credit=RankMean()
        --mechanism.source variants --mechanism.credit rank-mean
    """

    compares = True

    epsilon: float = 1e-6  # is added to the standard deviation
    does = rank_mean
