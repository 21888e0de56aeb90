"""The reward of a posed problem depends on how often the policy solves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.memory.posed import posed, solved
from assay.part import Rewarding
from assay.types import Episode, Reward


def learnability(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], invalid: float, extreme: float, lost: str
) -> list[Reward | None]:
    """No reward (None) for a problem as long as none of its probes has a verdict."""
    result: list[Reward | None] = []
    for episode in episodes:
        if posed(episode) is None:
            result.append(Reward("learnability", invalid))
        elif right := solved(episode, everyone, lost=lost):
            share = sum(right) / len(right)
            result.append(Reward("learnability", 1 - share if 0 < share < 1 else extreme))
        else:
            result.append(None)
    return result


class Learnability(Rewarding):
    """A posed problem earns 1 - s if a share 0 < s < 1 of its probes is right, `extreme` if all or none are (AZR
    2505.03335).

        Rule("proposer", reward=(Learnability(extreme=-0.5),))
        --mechanism.rules.0.reward learnability --mechanism.rules.0.reward.0.extreme -0.5
    """

    invalid: float = -1.0  # the reward of text that is not a problem
    extreme: float = -0.5
    lost: Literal["missing", "wrong"] = "missing"  # how a probe without a verdict, by an error of ours, counts
    does = learnability
