"""Credit for rewards within an answer: what is still to come at each token, and at each turn beside other turns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from assay.credit.advantage import DivideBy, group_relative
from assay.credit.pack import earned
from assay.curate.grouping import spread
from assay.curate.turns import OwnTurn, own_turns, turn_returns, turn_rewards
from assay.part import Credit, Ddof, Proportion
from assay.types import Row, by_group


def return_to_go(rows: Sequence[Row], *, gamma: float) -> list[Row]:
    """A_t = R_t - mean_g R_1, with R_t what is still to come at token t of turn k: sum_{u >= t} r_u within the turn,
    and gamma R_{k+1}. R_1 is that of the whole answer. 0 if all returns of a group are equal throughout.
    """
    result = list(rows)
    ahead = [_ahead(row, gamma) for row in rows]
    for group in by_group(rows).values():
        totals = [ahead[i][1] for i in group.places]
        flat = gamma == 1 and all(row.process is None or not np.any(row.process) for row in group.members)
        still = flat and not spread(totals)
        for i in group.places:
            tokens, _ = ahead[i]
            result[i] = rows[i].mark(advantage=np.zeros(len(tokens)) if still else tokens - float(np.mean(totals)))
    return result


def _ahead(row: Row, gamma: float) -> tuple[np.ndarray, float]:
    """What is still to come at each token of an answer, and in the whole answer."""
    turns = own_turns(row.episode)
    dense = np.zeros(len(row.episode)) if row.process is None else np.asarray(row.process, np.float64)
    if len(turns) < 2 or gamma == 1:
        return (row.reward or 0.0) + np.cumsum(dense[::-1])[::-1], earned(row)
    returns = turn_returns(turn_rewards(row, turns), gamma)
    tokens = np.zeros(len(row.episode))
    edges = [0, *(turn.start for turn in turns[1:]), len(tokens)]
    later = [*(gamma * returns[1:]), row.reward or 0.0]
    for start, stop, beyond in zip(edges, edges[1:], later, strict=False):
        tokens[start:stop] = beyond + np.cumsum(dense[start:stop][::-1])[::-1]
    return tokens, float(returns[0])


class ReturnToGo(Credit):
    """A_t = what the answer still earns from token t on, less the mean return of the group.

    For rewards of turns, spans and tokens. Without such rewards it is `group-relative` with scale none. `gamma`
    discounts from turn to turn: what the k-th turn from here on earns counts gamma^k.

    For your own recipes: for rewards of turns, spans and tokens without a critic; `gae` is the one with a critic.

        credit=ReturnToGo(gamma=0.95)
        --mechanism.credit return-to-go --mechanism.credit.gamma 0.95
    """

    gamma: Proportion = 1.0  # discount from turn to turn; within a turn nothing is discounted
    compares = True
    does = return_to_go


def compared(
    returns: Sequence[np.ndarray], keys: Sequence[Sequence[Hashable]], *, scale: DivideBy, ddof: int, epsilon: float
) -> list[np.ndarray]:
    """A_k = (R_k - mean R) / s over the turns of one key, those of all answers together; `returns` and `keys` have a
    number and a key for each turn of each answer. 0 for a turn whose key no other has, and where returns are equal.
    """
    numbers: dict[Hashable, int] = {}
    place = np.array([numbers.setdefault(key, len(numbers)) for each in keys for key in each], dtype=np.int64)
    values = np.concatenate([np.zeros(0), *returns])
    found = group_relative(values, place, scale=scale, ddof=ddof, epsilon=epsilon)
    return np.split(found, np.cumsum([len(each) for each in returns])[:-1]) if returns else []


def laid_out(row: Row, turns: Sequence[OwnTurn], values: np.ndarray) -> np.ndarray:
    """One number for each turn as a number for each token: those of a turn have its number, replies 0."""
    tokens = np.zeros(len(row.episode))
    for turn, value in zip(turns, values, strict=True):
        tokens[turn.start : turn.stop] = value
    return tokens


def same_turn(rows: Sequence[Row], *, gamma: float, scale: DivideBy, ddof: int, epsilon: float) -> list[Row]:
    """A_k = (R_k - mean R_k) / s over the answers of the group that have a k-th turn; R_k = sum_j gamma^(j-k) r_j."""
    turns = [own_turns(row.episode) for row in rows]
    returns = [turn_returns(turn_rewards(row, own), gamma) for row, own in zip(rows, turns, strict=True)]
    keys = [[(row.group, k) for k in range(len(own))] for row, own in zip(rows, turns, strict=True)]
    found = compared(returns, keys, scale=scale, ddof=ddof, epsilon=epsilon)
    return [row.mark(advantage=laid_out(row, own, a)) for row, own, a in zip(rows, turns, found, strict=True)]


class SameTurn(Credit):
    """A_k = (R_k - mean R_k) / s for turn k: the answers of a group are compared at the same turn. R_k is what the
    answer earns from its k-th turn on, each later turn discounted by gamma; with gamma = 0 what the turn itself earns.

    An answer of one turn has the advantage of `group-relative`. A turn that no other answer has is compared with none.

    For your own recipes: where worlds reward turns (docs/world.md), and a late turn earns less than an early one.

        credit=SameTurn(gamma=0.95)
        --mechanism.credit same-turn --mechanism.credit.gamma 0.95
    """

    gamma: Proportion = 1.0  # discount from turn to turn
    scale: DivideBy = "std"  # divide by nothing, by the std of the turns compared, or by that of all turns of the step
    ddof: Ddof = 1  # the std divides by the number of returns less ddof
    epsilon: float = 1e-6  # is added to the std
    compares = True
    does = same_turn
