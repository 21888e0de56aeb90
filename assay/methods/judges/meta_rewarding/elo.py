"""The worth of judgements, by comparisons of one with another: ratings of most likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Positive, Rewarding
from assay.reward.role_judges import by_parent
from assay.tasks.judging import COMPARE, written
from assay.types import Episode, Reward, by_group

_ROUNDS = 100  # of Newton's method; a handful is enough


def ratings(wins: np.ndarray, *, prior: float) -> np.ndarray:
    """e that maximises sum_ij W_ij log sigmoid(e_i - e_j) - prior / 2 |e|^2, where W_ij is how often i beat j."""
    count = len(wins)
    found = np.zeros(count)
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(found[None, :] - found[:, None]))  # of i against j
        slope = (wins * (1 - chance)).sum(1) - (wins.T * chance).sum(1) - prior * found
        bend = (wins + wins.T) * chance * (1 - chance)
        hessian = np.diag(bend.sum(1) + prior) - bend
        step = np.linalg.solve(hessian, slope)
        found = found + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-12:
            break
    return found


def weights(first: float) -> dict[int, float]:
    """The weight of a win at each place: in inverse proportion to how often that place wins, 1 on average. `first` is
    the share of wins at the first place.
    """
    return {1: 2 * (1 - first), 2: 2 * first}


def rated_by(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], role: str, prior: float
) -> list[Reward | None]:
    """The rating of each judgement among others of its group. A judgement that was not compared has the mean rating, 0.
    If it was compared but none of its comparisons can be read, its reward is `no_judgement`.
    """
    votes: list[tuple[str, str, int]] = []
    compared: dict[str, bool] = {}  # whether a comparison of it can be read
    for parent, judgements in by_parent(everyone, role, COMPARE).items():
        first, second = parent.split(" ")
        scores = [comparison.score for episode in judgements if (comparison := written(episode)) is not None]
        compared |= {side: bool(scores) or compared.get(side, False) for side in (first, second)}
        votes += [(first, second, score) for score in scores if score in (1, 2)]
    worth = weights(float(np.mean([score == 1 for _, _, score in votes])) if votes else 0.5)
    result: list[Reward | None] = [Reward("rated-by", 0.0)] * len(episodes)
    for group in by_group(episodes).values():
        index_of = {episode.request.id: k for k, episode in enumerate(group.members)}
        wins = np.zeros((len(group.members), len(group.members)))
        for first, second, score in votes:
            if first in index_of and second in index_of:
                winner, loser = (first, second) if score == 1 else (second, first)
                wins[index_of[winner], index_of[loser]] += worth[score]
        if wins.any():
            rated = ratings(wins, prior=prior).tolist()
            for i, rating in zip(group.places, rated, strict=True):
                result[i] = Reward("rated-by", rating)
    return [
        reward if compared.get(episode.request.id, True) else Reward.no_judgement("rated-by")
        for episode, reward in zip(episodes, result, strict=True)
    ]


class RatedBy(Rewarding):
    """The worth of a judgement beside others of the same answer, by a role that compares them two by two
    (Meta-Rewarding 2407.19594).

    Wins at the place that wins more often weigh less. The reward is the rating of most likelihood, as an Elo score in
    natural logarithms.
    """

    role: str = "meta"  # the role that `ask-pairs` asks
    prior: Positive = 0.01  # pulls ratings towards 0, so that a judgement that always wins has a finite one
    does = rated_by
