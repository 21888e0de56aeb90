"""A reward for groups without a right answer: how far each answer was right."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.part import Rewarding
from assay.tasks import chain_of
from assay.tasks.steps import Chain
from assay.types import Episode, Reward


def right_prefix(episodes: Sequence[Episode], *, slope: float, threshold: float) -> list[Reward | None]:
    """R = sigma(beta (k / K - gamma)) in groups without a right answer, where k of the K steps come before the first
    wrong one (2505.11595); None for all other answers.
    """
    judged = [e for e in episodes if e.verified]
    solved = {episode.request.group for episode in judged if episode.right}
    unsolved = {id(episode) for episode in judged if episode.request.group not in solved}
    return [_graded(episode, slope, threshold) if id(episode) in unsolved else None for episode in episodes]


def _graded(episode: Episode, slope: float, threshold: float) -> Reward | None:
    chain = chain_of(episode.request.problem, episode.text)
    if chain is None:
        return None
    return Reward("right-prefix", 1 / (1 + math.exp(-slope * (right_share(chain) - threshold))))


def right_share(chain: Chain) -> float:
    """k / K, where k of K steps come before the first wrong one; 0 if there are no steps."""
    verdicts = [step.verdict for step in chain.steps]
    before = verdicts.index("wrong") if "wrong" in verdicts else len(verdicts)
    return before / max(1, len(verdicts))


class RightPrefix(Rewarding):
    """If all answers of a group are wrong, each earns by the share of its steps before the first wrong one (SGPO
    2505.11595). For tasks that verify steps.

    R = 1 / (1 + exp(-beta (share - gamma))), beside an outcome reward of 0 for wrong answers.

        reward=(Outcome(), RightPrefix(slope=4.0))
        --mechanism.reward outcome,right-prefix --mechanism.reward.1.slope 4
    """

    slope: float = 4.0  # beta
    threshold: float = 1.0  # gamma: the share that earns 1/2
    does = right_prefix
    needs = ("texts",)
    needs_verdict = True
