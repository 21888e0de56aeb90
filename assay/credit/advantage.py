"""Advantage estimators: functions of the rewards and the group of each row, in numpy and float64.

Group-relative estimators give exactly 0 if all rewards of a group are equal: max - min <= 1e-6 max(1, max|r|).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from assay.credit.pack import by_reward
from assay.errors import ConfigError
from assay.part import Credit, Ddof

DivideBy = Literal["none", "std", "batch"]


def score(reward: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A_i = R_i."""
    return reward.astype(np.float64)


class Score(Credit):
    """A_i = R_i: REINFORCE without a baseline.

    credit=Score()
    --mechanism.credit score
    """

    does = by_reward(score)


def constant(reward: np.ndarray, group: np.ndarray, *, value: float) -> np.ndarray:
    """A_i = value."""
    return np.full(len(reward), value)


class Constant(Credit):
    """A_i = value, whatever the reward: for the likelihood of demonstrations.

    credit=Constant(value=1.0)
    --mechanism.credit constant --mechanism.credit.value 1.0
    """

    value: float = 1.0
    does = by_reward(constant)


def group_relative(reward: np.ndarray, group: np.ndarray, *, scale: DivideBy, ddof: int, epsilon: float) -> np.ndarray:
    """A_i = (R_i - mean_g R) / s, s = 1, std_g + epsilon or std of all rewards + epsilon; 0 if rewards are equal."""
    if scale not in ("none", "std", "batch"):
        raise ConfigError(f"credit.scale is 'none', 'std' or 'batch', not '{scale}'.")

    def one(r: np.ndarray) -> np.ndarray:
        centred = r - r.mean()
        compared = r if scale == "std" else reward
        return centred if scale == "none" else centred / (compared.std(ddof=ddof) + epsilon)

    return in_each_group(reward, group, one)


class GroupRelative(Credit):
    """A_i = (R_i - mean_g R) / s: s = std_g + epsilon in GRPO (2402.03300), s = 1 in Dr. GRPO (2503.20783).

    With scale="batch" s is the standard deviation of all rewards of the step, + epsilon (LitePPO 2508.08221).

        credit=GroupRelative(scale="none")
        --mechanism.credit group-relative --mechanism.credit.scale none
    """

    scale: DivideBy = "std"  # divide by nothing, by the std of the group, or by the std of all rewards of the step
    ddof: Ddof = 1  # the std divides by the number of rewards less ddof
    epsilon: float = 1e-6  # is added to the std
    does = by_reward(group_relative)
    compares = True


def leave_one_out(reward: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A_i = G / (G - 1) (R_i - mean_g R)."""
    return in_each_group(reward, group, lambda r: (r - r.mean()) * (len(r) / (len(r) - 1)))


class LeaveOneOut(Credit):
    """A_i = R_i - mean reward of the other answers of the group (RLOO 2402.14740). An unbiased estimator.

    credit=LeaveOneOut()
    --mechanism.credit leave-one-out
    """

    does = by_reward(leave_one_out)
    compares = True


def in_each_group(reward: np.ndarray, group: np.ndarray, one: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The function `one` applied to each group whose rewards differ; 0 in all other groups and in groups of one."""
    reward = reward.astype(np.float64)
    advantage = np.zeros_like(reward)
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        r = reward[members]
        if len(r) and r.max() - r.min() > 1e-6 * max(1.0, np.abs(r).max()):
            advantage[members] = one(r)
    return advantage
