"""Rewards with a known fault, for experiments: what does training do if the verifier errs, or if it says nothing?

A gain that remains when the rewards are dealt to other answers did not come from the rewards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from assay.memory import Memory
from assay.part import Proportion
from assay.reward.composed import Child, whole
from assay.reward.transforms import OfOne
from assay.rng import uniforms
from assay.types import Episode, Reward

MADE_INVALID = "made_invalid"
"""The kind of error of an answer that `misjudged` leaves without a verdict on purpose."""


def shuffled(episodes: Sequence[Episode], *, of: Child, name: str, memory: Memory) -> list[Reward | None]:
    """The rewards of these answers, dealt to them at random: the reward of one answer becomes that of another."""
    found = of(episodes)
    ids = [episode.request.id for episode in episodes]
    order = memory.key("shuffled", memory.step, *sorted(ids)).generator().permutation(len(found))
    dealt = [found[int(place)] for place in order]
    return [
        None if one is None else dataclasses.replace(one, name=name or "shuffled", values=None, at=None, parts=())
        for one in dealt
    ]


class Shuffled(OfOne):
    """The control of an experiment: every answer gets the reward of a random answer of the same round.

    The rewards of a step are the same numbers as without it, and say nothing about the answers that get them. Only a
    reward of whole answers can be dealt.

    For your own recipes: as the arm that shows what training does without the rewards' information.

        reward=(Shuffled(of=Outcome()),)
        --mechanism.reward shuffled --mechanism.reward.0.of outcome
    """

    does = shuffled

    def refusal(self, **_: Any) -> str | None:
        if self.of.gives == "episode":
            return None
        return f"shuffled: {type(self.of).__name__} has a value for each {self.of.gives}, not for an answer."


def misjudged(
    episodes: Sequence[Episode],
    *,
    of: Child,
    name: str,
    accepts: float,
    refuses: float,
    fails: float,
    right: float,
    wrong: float,
    memory: Memory,
) -> list[Reward | None]:
    """r with errors: `right` for a share `accepts` of the answers below `right`, `wrong` for a share `refuses` of the
    others, and no verdict (`invalid`) for a share `fails` of all. The request decides, so equal runs err alike.
    """
    rewards = of(episodes)
    title, result = name or "misjudged", []
    chances = uniforms([memory.key("misjudged", memory.step, e.request.id) for e in episodes], 2)
    for reward, (failing, erring) in zip(rewards, chances, strict=True):
        if reward is None or reward.invalid or reward.unread:
            result.append(reward)
        elif failing < fails:
            result.append(Reward.unknown(title, MADE_INVALID, (reward,)))
        elif reward.value < right:
            result.append(whole(title, right if erring < accepts else reward.value, (reward,)))
        else:
            result.append(whole(title, wrong if erring < refuses else reward.value, (reward,)))
    return result


class Misjudged(OfOne):
    """A verifier that errs as often as you say: for experiments on what its errors cost.

    For your own recipes: to see how many errors of a verifier a method bears.

    reward=(Misjudged(accepts=0.05),)
    --mechanism.reward misjudged --mechanism.reward.0.accepts 0.05
    """

    accepts: Proportion = 0.0  # share of the wrong answers that are rewarded as right ones
    refuses: Proportion = 0.0  # share of the right answers that are rewarded as wrong ones
    fails: Proportion = 0.0  # share of all answers that get no verdict, as if the verifier had failed
    right: float = 1.0  # the least reward of a right answer
    wrong: float = 0.0
    does = misjudged

    def refusal(self, **_: Any) -> str | None:
        if self.of.gives == "episode":
            return None
        return f"misjudged: {type(self.of).__name__} has a value for each {self.of.gives}, not for an answer."
