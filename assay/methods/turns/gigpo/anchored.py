"""Two groups in one: whole answers, and turns that began in the same state."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import Literal

import numpy as np

from assay.credit.advantage import DivideBy, group_relative
from assay.credit.pack import earned, group_numbers
from assay.credit.returns import compared, laid_out
from assay.curate.turns import OwnTurn, Told, own_turns, turn_returns, turn_rewards
from assay.part import Credit, Ddof, PositiveProportion, Proportion
from assay.types import Row

Anchor = Literal["reply", "replies"]


def group_in_group(
    rows: Sequence[Row],
    *,
    gamma: float,
    weight: float,
    scale: DivideBy,
    ddof: int,
    epsilon: float,
    anchor: Anchor,
    similarity: float,
) -> list[Row]:
    """A = (R - mean_g R) / s + weight (R_k - mean R_k) / s' for the tokens of turn k, 0 for replies.

    R is what the whole answer earns, R_k = sum_j gamma^(j-k) r_j what it earns from turn k on. The second mean is over
    the turns of the group that began in the state in which turn k began; s and s' are 1 or the deviations.
    """
    turns = [own_turns(row.episode) for row in rows]
    returns = [turn_returns(turn_rewards(row, own), gamma) for row, own in zip(rows, turns, strict=True)]
    totals = np.array([earned(row) for row in rows], np.float64)
    whole = group_relative(totals, group_numbers(rows), scale=scale, ddof=ddof, epsilon=epsilon)
    keys = states([row.group for row in rows], [_anchors(own, anchor) for own in turns], similarity)
    steps = compared(returns, keys, scale=scale, ddof=ddof, epsilon=epsilon)
    values = zip(rows, turns, whole, steps, strict=True)
    return [row.mark(advantage=laid_out(row, own, a + weight * step)) for row, own, a, step in values]


class GroupInGroup(Credit):
    """A = A of the answer in its group + weight A of the turn among the turns of the group that began in the same
    state (GiGPO 2505.10978).

    The state is what the world told last, or all that it has told so far (`replies`). With similarity below 1 a state
    is one with the first state of its group that has at least so many of its tokens in common.

        credit=GroupInGroup(gamma=0.95, scale="none")
        --mechanism.credit group-in-group --mechanism.credit.scale none
    """

    gamma: Proportion = 0.95  # discount from turn to turn
    weight: float = 1.0  # of the comparison of turns beside that of whole answers
    scale: DivideBy = "std"  # divide by nothing, by the std of what is compared, or by that of the step
    ddof: Ddof = 1  # the std divides by the number of returns less ddof
    epsilon: float = 1e-6  # is added to the std
    anchor: Anchor = "reply"  # the state: the last reply alone, or all replies so far
    similarity: PositiveProportion = 1.0  # of two states that count as one; 1: they are equal
    does = group_in_group
    compares = True


def _anchors(turns: Sequence[OwnTurn], anchor: Anchor) -> list[Told]:
    """What the state is known by in which each turn began."""
    if anchor == "reply":
        return [turn.told for turn in turns]
    told: Told = ()
    return [told := told + turn.told for turn in turns]


def states(groups: Sequence[str], anchors: Sequence[Sequence[Told]], similarity: float) -> list[list[Hashable]]:
    """For each turn of each answer its group and state: states of a group are one where they are equal, or similar."""
    if similarity >= 1:
        return [[(group, told) for told in own] for group, own in zip(groups, anchors, strict=True)]
    first: dict[str, list[Told]] = {}
    made: list[list[Hashable]] = []
    for group, own in zip(groups, anchors, strict=True):
        heads = first.setdefault(group, [])
        keys: list[Hashable] = []
        for told in own:
            like = next((i for i, other in enumerate(heads) if alike(told, other) >= similarity), len(heads))
            heads += [told] if like == len(heads) else []
            keys.append((group, like))
        made.append(keys)
    return made


def alike(one: Told, other: Told) -> float:
    """2 M / T: M tokens of two states stand in both in the same order, of T in all."""
    if one == other:
        return 1.0
    tokens = [np.frombuffer(b"".join(told), np.int32).tolist() for told in (one, other)]
    return SequenceMatcher(None, *tokens, autojunk=False).ratio()
