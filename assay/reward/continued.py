"""Rewards of steps from sampling: how often an answer that is continued after a step ends right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.curate.continued import CONTINUATION, Values, states_in, values_from
from assay.part import Rewarding
from assay.types import Episode, Reward, RewardScope


def sampled_steps(episodes: Sequence[Episode], *, estimate: Literal["hard", "soft"], last: bool) -> list[Reward | None]:
    """p_k at the last token of step k, from the answers that continue after this step; with `last` p_K = 1[right].

    hard: p_k = 1 if any of them is right, else 0; soft: p_k = their share of right answers (2312.08935).
    """
    judged = [e for e in episodes if e.verified]
    scores = [(e.request, float(e.right)) for e in judged if e.request.tag == CONTINUATION]
    values = values_from(scores, max if estimate == "hard" else np.mean)
    return [_scored(episode, values, last) for episode in episodes]


def _scored(episode: Episode, values: Values, last: bool) -> Reward:
    ends = [(at - 1, score) for at, score in states_in(episode, values) if at > episode.request.given]
    if last and len(episode):
        ends.append((len(episode) - 1, float(episode.right)))
    scores = np.array([score for _, score in ends])
    at = np.array([place for place, _ in ends], dtype=np.int32)
    return Reward("sampled-steps", float(scores.sum()), "span", scores, at)


class SampledSteps(Rewarding):
    """Each step earns what the policy makes of it: right answers among those that `continue-steps` of `expand` sampled
    from its end (Math-Shepherd 2312.08935).

    A step whose continuations could not be verified earns nothing.

        reward=(SampledSteps(estimate="soft"),)
        --mechanism.reward sampled-steps --mechanism.reward.0.estimate soft
    """

    estimate: Literal["hard", "soft"] = "hard"  # 1 if any continuation is right, or the share of right ones
    last: bool = True  # the last step too earns 1 if the answer is right; False: its reward is another part's
    does = sampled_steps
    needs = ("texts",)
    needs_verdict = True

    @property
    def gives(self) -> RewardScope:
        return "span"
