"""Advantages of turns: each turn is compared with the same turn of the other answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.advantage import in_each_group
from assay.credit.pack import group_numbers
from assay.methods.exploration.hi_grpo.turns import turns_of
from assay.part import Credit, Ddof
from assay.types import Row


def turn_relative(rows: Sequence[Row], *, backflow: float, ddof: int, epsilon: float) -> list[Row]:
    """A of turn l = (R_l - mean_g R_l) / (std_g R_l + epsilon), over the answers of the group that came to turn l.

    R_l = r_l + lambda R_{l+1}: r_l is what its tokens earn, for the last turn with the reward of the answer.
    """
    turns = [turns_of(row.episode.stream("origin")) for row in rows]
    earned = [_returns(row, turn, backflow) for row, turn in zip(rows, turns, strict=True)]
    advantages = [np.zeros(len(returns)) for returns in earned]
    numbers = group_numbers(rows)
    for level in range(max((len(returns) for returns in earned), default=0)):
        there = [i for i, returns in enumerate(earned) if level < len(returns)]
        reward = np.array([earned[i][level] for i in there])
        advantage = in_each_group(reward, numbers[there], lambda r: (r - r.mean()) / (r.std(ddof=ddof) + epsilon))
        for i, value in zip(there, advantage, strict=True):
            advantages[i][level] = value
    return [
        row.mark(advantage=own[turn] if len(turn) else np.zeros(0))
        for row, turn, own in zip(rows, turns, advantages, strict=True)
    ]


def _returns(row: Row, turn: np.ndarray, backflow: float) -> np.ndarray:
    """R_l of each turn of a row."""
    dense = np.zeros(len(turn)) if row.process is None else np.asarray(row.process, np.float64)
    returns = np.bincount(turn, weights=dense) if len(turn) else np.zeros(1)
    returns[-1] += row.reward or 0.0
    for level in range(len(returns) - 2, -1, -1):
        returns[level] += backflow * returns[level + 1]
    return returns


class TurnRelative(Credit):
    """Each turn has group statistics of its own, and the reward of a later turn flows back to earlier turns (Hi-GRPO
    2512.10949). The replies of the environment divide turns; an answer without any is one turn.
    """

    backflow: float = 1.0  # lambda: the share of the next turn's return that a turn earns too
    ddof: Ddof = 1  # the std divides by the number of rewards less ddof
    epsilon: float = 1e-6  # is added to the std
    compares = True
    does = turn_relative
