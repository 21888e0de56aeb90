"""Rewards divided by the group's mean reward."""

from __future__ import annotations

import numpy as np

from assay.credit.advantage import in_each_group
from assay.credit.pack import by_reward
from assay.errors import ConfigError
from assay.part import Credit


def mean_normalised(reward: np.ndarray, group: np.ndarray) -> np.ndarray:
    """A_i = R_i / mean_g R - 1; 0 in a group of equal rewards, so also if no answer is right."""
    if (reward < 0).any():
        raise ConfigError(
            f"credit mean-normalised divides by the mean reward and needs rewards of 0 or more; {reward.min():g} "
            "came. Set reward outcome to right=1, wrong=0."
        )
    return in_each_group(reward, group, lambda r: r / r.mean() - 1)


class MeanNormalised(Credit):
    """A_i = (R_i - mean_g R) / mean_g R, for the log-likelihood of success in place of its probability (MaxRL
    2602.02710).

        credit=MeanNormalised()
        --mechanism.credit mean-normalised
    """

    does = by_reward(mean_normalised)
    compares = True
