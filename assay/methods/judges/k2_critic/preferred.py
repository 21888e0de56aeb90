"""The share of comparisons that an answer won in the eyes of a role."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Rewarding
from assay.reward.role_judges import by_parent, unread
from assay.tasks.judging import COMPARE, written
from assay.types import Episode, Reward


def preferred_by(episodes: Sequence[Episode], *, everyone: Sequence[Episode], role: str) -> list[Reward | None]:
    """R_i = mean_j w_ij, where w_ij is 1 if answer i is found better than j in both orders, 0 if j is, else 1/2.

    A comparison counts if a judgement of each order can be read. If no comparison of an answer counts, its reward is
    `no_judgement`. Answers with equal texts tie without a question. None for an answer that was compared with no other.
    """
    judged = by_parent(everyone, role, COMPARE)
    wins: dict[str, list[float]] = {}
    asked: dict[str, list[Episode]] = {}
    for parent, judgements in judged.items():
        first, second = parent.split(" ")
        back = judged.get(f"{second} {first}", [])
        asked.setdefault(first, []).extend(judgements)
        forth, other = _chosen(judgements, 1), _chosen(back, 2)
        if forth is not None and other is not None:
            share = (forth + other) / 2
            wins.setdefault(first, []).append(1.0 if share == 1 else 0.0 if share == 0 else 0.5)

    def of(episode: Episode) -> Reward | None:
        own_wins = [*wins.get(episode.request.id, ()), *(0.5 for other in episodes if _same(episode, other))]
        if own_wins:
            return Reward("preferred-by", float(np.mean(own_wins)))
        return unread("preferred-by", asked.get(episode.request.id, ()))

    return [of(episode) for episode in episodes]


def _same(one: Episode, other: Episode) -> bool:
    """Whether these are two answers of a group with one text."""
    mine, theirs = one.request, other.request
    return mine.group == theirs.group and mine.id != theirs.id and one.text == other.text


def _chosen(said: Sequence[Episode], place: int) -> float | None:
    """The mean vote for the answer that the judge read at this place, 1/2 if it finds both equally good; None if no
    judgement can be read.
    """
    votes = [found.score for one in said if (found := written(one)) is not None]
    return float(np.mean([float(vote == place) if vote else 0.5 for vote in votes])) if votes else None


class PreferredBy(Rewarding):
    """The share of comparisons that the answer won in the eyes of a role; a win must be one in both orders, and all
    else is half a win (the round robin of MT-Bench 2306.05685, with a judge that is trained here).

        reward=(PreferredBy(role="critic"),)
        --mechanism.reward preferred-by --mechanism.reward.0.role critic
    """

    role: str = "judge"  # the role that `ask-pairs` asks
    does = preferred_by
    needs = ("texts",)
