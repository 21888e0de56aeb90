"""Advantages: what is pushed, and how hard. Numpy in, numpy out; float64, in the reward's own scale.

Group-relative estimators give exactly zero where all rewards of a group are equal (max - min <= 1e-6 max(1, max|r|)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.credit.baselines import GreedyRelative, LengthWeighted, greedy_relative, length_weighted
from assay.credit.branches import SharedMean, shared_mean
from assay.credit.cells import CellRelative, cell_relative
from assay.credit.certainty import ByCertainty, by_certainty
from assay.credit.components import PerReward, per_reward
from assay.credit.contributing import Contributing, contributing
from assay.credit.experts import Demonstrated, demonstrated
from assay.credit.gae import GAE, LengthAdaptiveGAE, gae, length_adaptive_gae
from assay.credit.hesitant import Hesitant, hesitant
from assay.credit.pack import by_reward
from assay.credit.passk import PassK, pass_k
from assay.credit.positions import TokenBaseline, token_baseline
from assay.credit.process import ProcessLeaveOneOut, process_leave_one_out
from assay.credit.pseudo import PseudoFailure, pseudo_failure
from assay.credit.tracked import TrackedValue, tracked_value
from assay.credit.trees import ProcessRelative, TreeRelative, process_relative, tree_relative
from assay.credit.verdicts import Signed, signed
from assay.credit.virtual import VirtualBest, virtual_best
from assay.credit.whiten import Whiten, whiten
from assay.errors import ConfigError
from assay.part import Part, Registry

Scale = Literal["none", "std", "batch"]


@dataclass(frozen=True)
class Score(Part):
    """A_i = R_i: the plain score function, no baseline."""


def score(reward: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A_i = R_i."""
    return reward.astype(np.float64)


@dataclass(frozen=True)
class Constant(Part):
    """A_i = value, whatever the reward: likelihood of demonstrations."""

    value: float = 1.0


def constant(reward: np.ndarray, group: np.ndarray, *, value: float) -> np.ndarray:
    """A_i = value."""
    return np.full(len(reward), value)


@dataclass(frozen=True)
class GroupRelative(Part):
    """A_i = (R_i - mean_g R) / s_g with s_g = 1 or std_g + epsilon (GRPO 2402.03300, Dr. GRPO 2503.20783).

    Or the standard deviation of all rewards of the step, what groups differ by included (LitePPO 2508.08221).
    """

    scale: Scale = "std"
    ddof: int = 1
    epsilon: float = 1e-6


def group_relative(reward: np.ndarray, group: np.ndarray, *, scale: Scale, ddof: int, epsilon: float) -> np.ndarray:
    """A_i = (R_i - mean_g R) / s_g, s_g = 1, std_g(ddof) or std of all, + epsilon; 0 in a group of equal rewards."""
    if scale not in ("none", "std", "batch"):
        raise ConfigError(f"credit.scale is 'none', 'std' or 'batch', not '{scale}'.")

    def one(r: np.ndarray) -> np.ndarray:
        centred = r - r.mean()
        compared = r if scale == "std" else reward
        return centred if scale == "none" else centred / (compared.std(ddof=ddof) + epsilon)

    return _by_group(reward, group, one)


@dataclass(frozen=True)
class LeaveOneOut(Part):
    """A_i = R_i - mean of the others' rewards (RLOO 2402.14740). Unbiased."""


def leave_one_out(reward: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A_i = G / (G - 1) (R_i - mean_g R)."""
    return _by_group(reward, group, lambda r: (r - r.mean()) * (len(r) / (len(r) - 1)))


@dataclass(frozen=True)
class MeanNormalised(Part):
    """A_i = (R_i - mean_g R) / mean_g R: towards the likelihood of success instead of its rate (MaxRL 2602.02710)."""


def mean_normalised(reward: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A_i = R_i / mean_g R - 1; 0 in a group of equal rewards, so also where nothing is right."""
    if (reward < 0).any():
        raise ConfigError(
            f"credit mean-normalised divides by the mean reward and needs rewards of 0 or more; {reward.min():g} came. "
            "Set reward outcome to right=1, wrong=0."
        )
    return _by_group(reward, group, lambda r: r / r.mean() - 1)


def _by_group(reward: np.ndarray, group: np.ndarray, one: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """`one` on each group whose rewards differ; zero elsewhere, so also in a group that shrank to one row."""
    reward = reward.astype(np.float64)
    advantage = np.zeros_like(reward)
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        r = reward[members]
        if len(r) and r.max() - r.min() > 1e-6 * max(1.0, np.abs(r).max()):
            advantage[members] = one(r)
    return advantage


CREDITS: Registry = {
    "score": (Score, by_reward(score)),
    "constant": (Constant, by_reward(constant)),
    "group-relative": (GroupRelative, by_reward(group_relative)),
    "leave-one-out": (LeaveOneOut, by_reward(leave_one_out)),
    "length-weighted": (LengthWeighted, length_weighted),
    "tree-relative": (TreeRelative, tree_relative),
    "process-relative": (ProcessRelative, process_relative),
    "pseudo-failure": (PseudoFailure, pseudo_failure),
    "cell-relative": (CellRelative, cell_relative),
    "greedy-relative": (GreedyRelative, greedy_relative),
    "process-leave-one-out": (ProcessLeaveOneOut, process_leave_one_out),
    "demonstrated": (Demonstrated, demonstrated),
    "gae": (GAE, gae),
    "length-adaptive-gae": (LengthAdaptiveGAE, length_adaptive_gae),
    "pass-k": (PassK, pass_k),
    "signed": (Signed, signed),
    "virtual-best": (VirtualBest, virtual_best),
    "by-certainty": (ByCertainty, by_certainty),
    "token-baseline": (TokenBaseline, token_baseline),
    "mean-normalised": (MeanNormalised, by_reward(mean_normalised)),
    "tracked-value": (TrackedValue, tracked_value),
    "per-reward": (PerReward, per_reward),
}
SHAPES: Registry = {
    "shared-mean": (SharedMean, shared_mean),
    "whiten": (Whiten, whiten),
    "hesitant": (Hesitant, hesitant),
    "contributing": (Contributing, contributing),
}
GROUP_BASELINES: Sequence[type[Part]] = (
    GroupRelative,
    LeaveOneOut,
    LengthWeighted,
    Demonstrated,
    ProcessLeaveOneOut,
    TreeRelative,
    ProcessRelative,
    PassK,
    VirtualBest,
    ByCertainty,
    TokenBaseline,
    MeanNormalised,
    PerReward,
)
