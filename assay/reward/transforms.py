"""Rewards that change another reward: affine, clip, saturate, sigmoid, delta, schedule, mask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from assay.memory import Memory
from assay.part import Proportion, Rewarding
from assay.reward.anchors import saturated as saturation
from assay.reward.composed import Child, combined, spread
from assay.reward.parts import Outcome
from assay.reward.within import RepeatedSteps
from assay.types import Episode, Origin, Problem, Reward, RewardScope


class OfOne(Rewarding):
    """A reward that changes another one."""

    of: Rewarding = Outcome()
    name: str = ""  # in metrics and rollouts; "": the name of the part

    @property
    def gives(self) -> RewardScope:
        return self.of.gives


def affine(episodes: Sequence[Episode], *, of: Child, name: str, times: float, plus: float) -> list[Reward | None]:
    """a r + b."""
    found = of(episodes)
    return [combined(name or "affine", [one], lambda value: times * value + plus) for one in found]


class Affine(OfOne):
    """a r + b of a reward r; of each of its values, if it has a value for each turn, span or token.

    reward=(Affine(of=Outcome(), times=2.0, plus=-1.0),)
    --mechanism.reward affine --mechanism.reward.0.times 2 --mechanism.reward.0.plus -1
    """

    times: float = 1.0  # a
    plus: float = 0.0  # b
    does = affine


def clipped(episodes: Sequence[Episode], *, of: Child, name: str, low: float, high: float) -> list[Reward | None]:
    """min(max(r, low), high)."""
    found = of(episodes)
    return [combined(name or "clip", [one], lambda value: min(max(value, low), high)) for one in found]


class Clipped(OfOne):
    """A reward within two bounds; each of its values, if it has several.

    With `affine` within it this is the clip mechanism min(p - eta, 0) of 2410.15115: a step can only cost.

    For your own recipes: to bound a reward whose extremes would outweigh the others.

        reward=(Outcome(), Clipped(of=SoftOverlong(), low=-0.5))
        --mechanism.reward outcome,clip --mechanism.reward.1.of soft-overlong --mechanism.reward.1.low -0.5
    """

    known_as = "clip"

    low: float = -1.0
    high: float = 1.0
    does = clipped

    def refusal(self, **_: Any) -> str | None:
        return f"clip: low = {self.low:g} is above high = {self.high:g}." if self.low > self.high else None


def saturated(episodes: Sequence[Episode], *, of: Child, name: str, above: float, slope: float) -> list[Reward | None]:
    """min(r, tau) + kappa log(1 + max(r - tau, 0))."""

    return [combined(name or "saturate", [one], lambda value: saturation(value, above, slope)) for one in of(episodes)]


class Saturated(OfOne):
    """A reward that grows slowly above a threshold: r' = min(r, tau) + kappa log(1 + max(r - tau, 0)).

    So a criterion that is met well enough is not driven further at the cost of others (2508.12790, the form is ours).

    For your own recipes: where a second reward is driven further than it needs at the cost of the first.

        reward=(Outcome(), Saturated(of=WellFormed(), above=0.6))
        --mechanism.reward outcome,saturate --mechanism.reward.1.of well-formed --mechanism.reward.1.above 0.6
    """

    known_as = "saturate"

    above: float = 0.5  # tau
    slope: Proportion = 0.0  # kappa; 0: no growth above tau; more than 1 would be steeper than the reward
    does = saturated


def sigmoid(value: float) -> float:
    """1 / (1 + exp(-value)), without overflow."""
    return (1 + math.tanh(value / 2)) / 2


def squashed(episodes: Sequence[Episode], *, of: Child, name: str, times: float) -> list[Reward | None]:
    """sigma(alpha r) = 1 / (1 + exp(-alpha r))."""
    return [combined(name or "sigmoid", [one], lambda value: sigmoid(times * value)) for one in of(episodes)]


class Squashed(OfOne):
    """The sigmoid of a reward, between 0 and 1; of each of its values, if it has several. Of the score of a reward
    model, which has no bounds, it makes the probability that the model learnt.

        reward=(Outcome(), Squashed(of=Scored(), times=0.5))
        --mechanism.reward outcome,sigmoid --mechanism.reward.1.of scored --mechanism.reward.1.times 0.5
    """

    known_as = "sigmoid"

    times: float = 1.0  # alpha
    does = squashed


def delta(episodes: Sequence[Episode], *, of: Child, name: str) -> list[Reward | None]:
    """r_k = p_k - p_{k+1} for k < K - 1, r_{K-1} = p_{K-1}, r_K = 0 (2410.15115)."""
    result: list[Reward | None] = []
    for found in of(episodes):
        if found is None or found.invalid or found.values is None:
            result.append(combined(name or "delta", [found], float))
        else:
            scores = np.asarray(found.values, np.float64)
            following = np.append(scores[1:-1], [0.0, 0.0])[: len(scores)]
            last = np.append(scores[:-1], 0.0)[: len(scores)]
            result.append(spread(name or "delta", (last - following).tolist(), found, (found,)))
    return result


class Delta(OfOne):
    """Each step has the difference of its score and the next one's, and the last step has nothing (2410.15115).

    What is still to come at step k is then the score p_k, however many steps follow: further steps earn nothing.

        reward=(Outcome(), Delta(of=RepeatedSteps(cost=0.1)))
        --mechanism.reward outcome,delta --mechanism.reward.1.of repeated-steps
    """

    of: Rewarding = RepeatedSteps()  # a reward of turns or steps
    does = delta

    def refusal(self, **_: Any) -> str | None:
        if self.of.gives != "episode":
            return None
        return f"delta: {type(self.of).__name__} has one value for a whole answer. Take a reward of turns or spans."


def scheduled(
    episodes: Sequence[Episode],
    *,
    of: Child,
    name: str,
    start: float,
    end: float,
    over: float,
    num_steps: int,
    memory: Memory,
) -> list[Reward | None]:
    """w(step) r, w(step) = start + (end - start) min(1, step / (over N))."""
    passed = min(1.0, memory.step / (over * num_steps)) if over > 0 else 1.0
    weight = (1.0 - passed) * start + passed * end
    rewards = of(episodes)
    return [combined(name or "schedule", [reward], lambda value: weight * value) for reward in rewards]


class Scheduled(OfOne):
    """A reward whose weight changes linearly over the first steps of the run, and then stays.

    For your own recipes: for a reward that only the beginning of a run needs, or that it cannot bear yet.

    reward=(Outcome(), Scheduled(of=SoftOverlong(), over=0.2))
    --mechanism.reward outcome,schedule --mechanism.reward.1.of soft-overlong --mechanism.reward.1.over 0.2
    """

    known_as = "schedule"

    start: float = 0.0  # the weight in the first step
    end: float = 1.0  # the weight at the end of the change
    over: Proportion = 0.5  # the share of all steps in which the weight changes; 0: it has its last value at once
    does = scheduled


Among = Literal["right", "wrong", "finished", "unaided"]


def masked(episodes: Sequence[Episode], *, of: Child, name: str, only: Among) -> list[Reward | None]:
    """The reward of answers of one sort; None for the others. Of values at tokens: those that the policy wrote."""
    kept = [i for i, episode in enumerate(episodes) if _among(episode, only)]
    inner = of([episodes[i] for i in kept]) if kept else []
    found = dict(zip(kept, inner, strict=True))
    return [_own(name or "mask", episode, found.get(i)) for i, episode in enumerate(episodes)]


def _among(episode: Episode, only: Among) -> bool:
    return {
        "right": episode.right,
        "wrong": episode.verified and not episode.right,
        "finished": episode.finish == "stop",
        "unaided": not episode.request.helped,
    }[only]


def _own(name: str, episode: Episode, found: Reward | None) -> Reward | None:
    if found is None or found.invalid or found.values is None:
        return combined(name, [found], float)
    wrote = episode.stream("origin") == Origin.POLICY
    at = np.arange(len(episode)) if found.at is None else found.at
    return spread(name, np.where(wrote[at], found.values, 0.0).tolist(), found, (found,))


class Masked(OfOne):
    """A reward for answers of one sort only; the others do not have it. Values at tokens that the policy did not write
    become 0.

    For your own recipes: where a penalty or bonus is meant for some answers alone, such as a price of length for right
    ones.

        reward=(Outcome(), Masked(of=SoftOverlong(), only="right"))
        --mechanism.reward outcome,mask --mechanism.reward.1.of soft-overlong --mechanism.reward.1.only right
    """

    known_as = "mask"

    only: Among = "right"  # right or wrong answers, those that ended by themselves, or those that had no help
    does = masked

    def reads_verdict(self, problem: Problem) -> bool:
        return self.only in ("right", "wrong")
