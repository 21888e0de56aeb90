"""Advantages of steps from values that are sampled, not learnt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.curate.continued import CONTINUATION, states_in, values_from
from assay.part import Credit
from assay.types import Row


def step_values(rows: Sequence[Row]) -> list[Row]:
    """A_t = r_k + V_{k+1} - V_k for the tokens of step k, and V = 0 after the last one (VinePPO 2410.01679).

    V_k is the mean reward of the answers that continue from the beginning of step k; r_k are the rewards of its tokens,
    and of the last step also that of the answer. A step whose continuations were all lost is one with the step before
    it; the first step has A = 0 then. If there are no continuations at all, V = 0.
    """
    scores = [(row.episode.request, row.reward or 0.0) for row in rows if row.episode.request.tag == CONTINUATION]
    values = values_from(scores, np.mean)
    return [row.mark(advantage=_along(row, states_in(row.episode, values) if values else [(0, 0.0)])) for row in rows]


def _along(row: Row, states: Sequence[tuple[int, float]]) -> np.ndarray:
    """The advantages of a row with values at these tokens."""
    count = len(row.episode)
    earned = np.zeros(count) if row.process is None else np.asarray(row.process, np.float64)
    advantage = np.zeros(count)
    following = [*states[1:], (count, row.reward or 0.0)]
    for (begin, value), (end, later) in zip(states, following, strict=False):
        advantage[begin:end] = earned[begin:end].sum() + later - value
    return advantage


class StepValues(Credit):
    """A = r_k + V_{k+1} - V_k for each step k, where V is the mean reward of answers that were sampled from this place
    (VinePPO 2410.01679).

    A part of `expand` samples them, such as `continue-steps`, which says where a step begins.

        credit=StepValues()
        --mechanism.credit step-values
    """

    does = step_values
