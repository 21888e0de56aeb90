"""Advantages: what is pushed, and how hard. Numpy in, numpy out; float64, in the reward's own scale.

Group-relative estimators give exactly zero where all rewards of a group are equal (max - min <= 1e-6 max(1, max|r|)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.credit.pack import by_reward
from assay.errors import ConfigError
from assay.part import Credit

DivideBy = Literal["none", "std", "batch"]


def score(reward: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A_i = R_i."""
    return reward.astype(np.float64)


@dataclass(frozen=True)
class Score(Credit):
    """A_i = R_i: the plain score function, no baseline."""

    does = by_reward(score)


def constant(reward: np.ndarray, group: np.ndarray, *, value: float) -> np.ndarray:
    """A_i = value."""
    return np.full(len(reward), value)


@dataclass(frozen=True)
class Constant(Credit):
    """A_i = value, whatever the reward: likelihood of demonstrations."""

    value: float = 1.0
    does = by_reward(constant)


def group_relative(reward: np.ndarray, group: np.ndarray, *, scale: DivideBy, ddof: int, epsilon: float) -> np.ndarray:
    """A_i = (R_i - mean_g R) / s_g, s_g = 1, std_g(ddof) or std of all, + epsilon; 0 in a group of equal rewards."""
    if scale not in ("none", "std", "batch"):
        raise ConfigError(f"credit.scale is 'none', 'std' or 'batch', not '{scale}'.")

    def one(r: np.ndarray) -> np.ndarray:
        centred = r - r.mean()
        compared = r if scale == "std" else reward
        return centred if scale == "none" else centred / (compared.std(ddof=ddof) + epsilon)

    return by_group(reward, group, one)


@dataclass(frozen=True)
class GroupRelative(Credit):
    """A_i = (R_i - mean_g R) / s_g with s_g = 1 or std_g + epsilon (GRPO 2402.03300, Dr. GRPO 2503.20783).

    Or the standard deviation of all rewards of the step, what groups differ by included (LitePPO 2508.08221).
    """

    scale: DivideBy = "std"  # what differences are divided by: nothing, std of the group, std of the step
    ddof: int = 1
    epsilon: float = 1e-6
    does = by_reward(group_relative)
    compares = True


def leave_one_out(reward: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A_i = G / (G - 1) (R_i - mean_g R)."""
    return by_group(reward, group, lambda r: (r - r.mean()) * (len(r) / (len(r) - 1)))


@dataclass(frozen=True)
class LeaveOneOut(Credit):
    """A_i = R_i - mean of the others' rewards (RLOO 2402.14740). Unbiased."""

    does = by_reward(leave_one_out)
    compares = True


def by_group(reward: np.ndarray, group: np.ndarray, one: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """`one` on each group whose rewards differ; zero elsewhere, so also in a group that shrank to one row."""
    reward = reward.astype(np.float64)
    advantage = np.zeros_like(reward)
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        r = reward[members]
        if len(r) and r.max() - r.min() > 1e-6 * max(1.0, np.abs(r).max()):
            advantage[members] = one(r)
    return advantage
