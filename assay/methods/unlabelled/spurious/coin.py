"""A reward that a coin decides."""

from __future__ import annotations

from collections.abc import Sequence

from assay.memory import Memory
from assay.part import Proportion, Rewarding
from assay.rng import uniforms
from assay.types import Episode, Reward


def coin(episodes: Sequence[Episode], *, memory: Memory, share: float) -> list[Reward | None]:
    """1 with probability `share`, else 0. The coin of a request and step falls once, however often it is asked for."""
    if not episodes:
        return []
    falls = uniforms([memory.key("coin", memory.step, episode.request.id) for episode in episodes], 1)[:, 0]
    return [Reward("coin", float(one < share)) for one in falls]


class Coin(Rewarding):
    """A random reward: 1 with probability `share`, whatever the answer is (2506.10947).

    reward=(Coin(share=0.5),)
    --mechanism.reward coin --mechanism.reward.0.share 0.5
    """

    share: Proportion = 0.5  # the probability of a reward of 1
    does = coin
    outcome = True
