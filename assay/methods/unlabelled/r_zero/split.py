"""A problem is worth the more, the more the answers to it are split. Nobody knows which are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from assay.memory.posed import posed
from assay.part import Rewarding
from assay.types import Episode, Reward
from assay.verifiers.elections import answer_of, top_share


def tent(share: float) -> float:
    """1 - 2 |p - 1/2| (R-Zero 2508.05004)."""
    return 1 - 2 * abs(share - 0.5)


def band(share: float, *, answers: int) -> float:
    """1 if the answers neither all agree nor all differ, else 0 (SQLM 2508.03682)."""
    return float(1 / answers < share < 1)


def split(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], form: str, repeated: float
) -> list[Reward | None]:
    """max(0, worth of p - repeated (share of the step's problems that are the same)), p the share of the most frequent
    answer. Text that is no problem has 0; a problem without answers has None.
    """
    answers_to: dict[str, list[str | None]] = {}
    for other in everyone:
        answers_to.setdefault(other.request.parent, []).append(answer_of(other))
    problems = [posed(episode) for episode in episodes]
    count = Counter(problem.id for problem in problems if problem is not None)
    result: list[Reward | None] = []
    for episode, problem in zip(episodes, problems, strict=True):
        if problem is None:
            result.append(Reward("split", 0.0))
        elif answers := answers_to.get(episode.request.id):
            share = top_share(answers)
            worth = tent(share) if form == "tent" else band(share, answers=len(answers))
            again = (count[problem.id] - 1) / len(episodes)
            result.append(Reward("split", max(0.0, worth - repeated * again)))
        else:
            result.append(None)
    return result


class Split(Rewarding):
    """The reward of a posed problem by how the answers to it are split: a tent with its top at one half, or a band.

    Rule("proposer", reward=(Split(form="tent"),))
    --mechanism.rules.0.reward split --mechanism.rules.0.reward.0.form band
    """

    form: Literal["tent", "band"] = "tent"  # 1 - 2 |p - 1/2|, or 1 where answers neither all agree nor all differ
    repeated: float = 1.0  # the price of problems that are posed several times in a step, by their share
    does = split
