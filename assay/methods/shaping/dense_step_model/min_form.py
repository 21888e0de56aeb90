"""The worst step decides: rewards of steps whose sum is close to the lowest of them, and what credit follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.credit.pack import trains
from assay.curate.grouping import spread
from assay.part import Credit, Positive, Rewarding
from assay.reward import composed
from assay.reward.transforms import OfOne
from assay.reward.within import Decoder, RepeatedSteps, steps_of
from assay.types import Episode, Reward, Row, by_group


def min_form(episodes: Sequence[Episode], *, of: composed.Child, name: str, temperature: float) -> list[Reward | None]:
    """r'_k = w_k r_k, with w = softmax_k(-r_k / T): sum_k r'_k goes to min_k r_k as T goes to 0 (PURE 2504.15275)."""
    result: list[Reward | None] = []
    for found in of(episodes):
        if found is None or found.invalid or found.values is None:
            result.append(composed.combined(name or "min-form", [found], float))
        else:
            result.append(
                composed.spread(name or "min-form", weighed(found.values, temperature).tolist(), found, (found,))
            )
    return result


def weighed(values: np.ndarray, temperature: float) -> np.ndarray:
    """w_k r_k; nothing of nothing."""
    rewards = np.asarray(values, np.float64)
    if len(rewards) == 0:
        return rewards
    powers = np.exp((rewards.min() - rewards) / temperature)
    return powers / powers.sum() * rewards


class MinForm(OfOne):
    """Rewards of steps, weighed so that the lowest of an answer has nearly all of the weight (PURE 2504.15275).

    So an answer is worth what its worst step is worth, and further good steps earn nothing.
    """

    of: Rewarding = RepeatedSteps()  # a reward of turns or steps
    temperature: Positive = 0.1  # T
    does = min_form

    def refusal(self, **_: Any) -> str | None:
        if self.of.gives == "episode":
            return f"min-form: {type(self.of).__name__} has one value for a whole answer. Take a reward of steps."
        return None


def step_leave_one_out(rows: Sequence[Row], *, codec: Decoder, outcome: float, marks: str) -> list[Row]:
    """A_t = sum over the steps from that of token t on of (r'_k - b n_k), + outcome (R - mean of the others' R).

    n_k is the number of tokens of step k that train; b = sum of all r' of the other answers of the group / their number
    of tokens that train. A = 0 if an answer has no others. A group of equal R and r' has A = -b n, plus r', not 0.
    """
    result = list(rows)
    for group in by_group(rows).values():
        masks = [trains(row) for row in group.members]
        dense = [_dense(row) for row in group.members]
        sums, counts = np.array([d.sum() for d in dense]), np.array([mask.sum() for mask in masks])
        rewards = np.array([row.reward or 0.0 for row in group.members])
        differs = spread(rewards.tolist())
        for k, i in enumerate(group.places):
            others = counts.sum() - counts[k]
            if len(group.members) == 1 or not masks[k].any():
                result[i] = rows[i].mark(advantage=np.zeros(len(dense[k])))
                continue
            baseline = (sums.sum() - sums[k]) / others if others else 0.0
            earned = dense[k].copy()
            begin = 0
            for end, _ in steps_of(rows[i].episode.stream("ids").tolist(), codec, marks):
                earned[end] -= baseline * masks[k][begin : end + 1].sum()
                begin = end + 1
            ahead = np.cumsum(earned[::-1])[::-1]
            if differs:
                ahead += outcome * (rewards[k] - (rewards.sum() - rewards[k]) / (len(group.members) - 1))
            result[i] = rows[i].mark(advantage=np.where(masks[k], ahead, 0.0))
    return result


class StepLeaveOneOut(Credit):
    """The rewards of the steps still to come, less the average reward of as many tokens of the group's other answers,
    and the outcome less that of the others (PURE 2504.15275).

    The baseline is per token, not per step: a baseline per step would favour few and very long steps.
    """

    outcome: float = 1.0  # the weight of the outcome
    marks: str = "\n,|"  # the characters that end a step
    does = step_leave_one_out
    compares = True


def _dense(row: Row) -> np.ndarray:
    return np.zeros(len(row.episode)) if row.process is None else np.asarray(row.process, np.float64)
