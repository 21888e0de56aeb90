"""Two advantages in one: of the outcome, and of the steps, each normalised by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.credit.advantage import group_relative
from assay.credit.pack import group_numbers
from assay.curate.grouping import spread
from assay.memory import Memory
from assay.part import Credit, Ddof
from assay.types import Row, by_group


def share_of_steps(start: float, end: float, passed: float) -> float:
    """alpha = start (end / start)^passed, where `passed` goes from 0 to 1 in the stage; 0 if `start` is 0."""
    return start * (end / start) ** min(1.0, passed) if start > 0 else 0.0


def outcome_and_steps(
    rows: Sequence[Row],
    memory: Memory,
    *,
    since: int,
    until: int,
    start: float,
    end: float,
    ddof: int,
    epsilon: float,
) -> list[Row]:
    """A_t = (1 - alpha) (R - mean_g R) / (std_g R + epsilon) + alpha sum of r~_k over the step of t and later ones.

    r~_k = (r_k - mean r) / (std r + epsilon), over the steps of all answers of the group; 0 if they are equal.
    """
    alpha = share_of_steps(start, end, (memory.step - since) / max(1, until - since))
    rewards = np.array([row.reward or 0.0 for row in rows])
    outcome = group_relative(rewards, group_numbers(rows), scale="std", ddof=ddof, epsilon=epsilon)
    result = list(rows)
    for group in by_group(rows).values():
        steps = [steps_in(row) for row in group.members]
        every = np.concatenate([values for values, _ in steps])
        differ = spread(every.tolist())
        mean, scale = (every.mean(), every.std(ddof=ddof) + epsilon) if differ else (0.0, 1.0)
        for i, (values, at) in zip(group.places, steps, strict=True):
            dense = np.zeros(len(rows[i].episode))
            np.add.at(dense, at, (values - mean) / scale if differ else 0.0)
            later = np.cumsum(dense[::-1])[::-1]
            result[i] = rows[i].mark(advantage=(1 - alpha) * outcome[i] + alpha * later)
    return result


def steps_in(row: Row) -> tuple[np.ndarray, np.ndarray]:
    """The rewards of the steps of an answer, and their tokens."""
    parts = [(r.values, r.at) for r in row.episode.rewards if r.scope == "span" and r.values is not None]
    values = np.concatenate([np.asarray(v, np.float64) for v, _ in parts] or [np.zeros(0)])
    at = np.concatenate([np.asarray(a, np.int64) for _, a in parts] or [np.zeros(0, np.int64)])
    return values, at


class OutcomeAndSteps(Credit):
    """(1 - alpha) times the advantage of the outcome, and alpha times that of the steps from here on (RL Tango
    2505.15034).

    Rewards of outcomes and of steps are normalised apart, over the group. alpha falls from `start` to `end`,
    exponentially over the stage. The steps are those of rewards of spans.

        credit=OutcomeAndSteps(start=0.5, end=0.05)
        --mechanism.credit outcome-and-steps --mechanism.credit.start 0.5 --mechanism.credit.end 0.05
    """

    start: float = 0.5  # alpha at the first step of the stage
    end: float = 0.05  # alpha at its end
    ddof: Ddof = 1  # both stds divide by the number of rewards less ddof
    epsilon: float = 1e-6  # is added to both stds
    does = outcome_and_steps
    compares = True

    def refusal(self, **_: object) -> str | None:
        if 0 <= self.end <= 1 and 0 <= self.start <= 1 and (self.end > 0) == (self.start > 0):
            return None
        return (
            f"outcome-and-steps: alpha falls from {self.start:g} to {self.end:g}; both must be above 0 and at most 1, "
            "or both 0."
        )
