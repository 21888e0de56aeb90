"""Rewards from judgements that a role of the recipe wrote (`ask-judge` of `expand`).

An answer about which the role wrote nothing that can be read has no judgement (`Reward.no_judgement`), which is no
judgement of zero: it counts nowhere, and the answer keeps its other rewards. Nobody gains by being hard to judge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Rewarding
from assay.tasks.judging import JUDGE, written
from assay.types import Episode, Reward


def by_parent(everyone: Sequence[Episode], role: str, kind: str) -> dict[str, list[Episode]]:
    """The answers of a judge by what they judge."""
    found: dict[str, list[Episode]] = {}
    for episode in everyone:
        if episode.request.role == role and episode.request.problem.task.startswith(kind):
            found.setdefault(episode.request.parent, []).append(episode)
    return found


def unread(name: str, said: Sequence[Episode]) -> Reward | None:
    """The reward of an answer without a judgement that can be read: None if no judgement was asked for."""
    return Reward.no_judgement(name) if said else None


def scored_by(episodes: Sequence[Episode], *, everyone: Sequence[Episode], role: str) -> list[Reward | None]:
    """R = mean of the scores / highest score, over the judgements that can be read; no judgement if none can, None for
    an answer that was not judged.
    """
    judged = by_parent(everyone, role, JUDGE)

    def of(said: Sequence[Episode]) -> Reward | None:
        found = [(one, judgement) for one in said if (judgement := written(one)) is not None]
        scores = [judgement.score / one.request.problem.spec["most"] for one, judgement in found]
        return Reward("scored-by", float(np.mean(scores))) if scores else unread("scored-by", said)

    return [of(judged.get(episode.request.id, ())) for episode in episodes]


class ScoredBy(Rewarding):
    """The mean score that a role gave the answer, as a share of the highest score (Self-Rewarding 2401.10020).

    A judgement that cannot be read does not count. An answer without any that can has no reward, and does not train.

        reward=(ScoredBy(role="judge"),)
        --mechanism.reward scored-by --mechanism.reward.0.role judge
    """

    role: str = "judge"  # the role that `ask-judge` asks
    does = scored_by


def signs_of(judgement: Episode, count: int) -> list[float] | None:
    """1 and -1 for the marks of a judgement; None if it does not have exactly so many."""
    found = written(judgement)
    if found is None or len(found.marks) != count or "," in found.marks:
        return None
    return [1.0 if mark == "+" else -1.0 for mark in found.marks]
