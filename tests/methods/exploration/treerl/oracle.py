"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import clipped, leave_one_out, own_mean, rewards
from oracles import Answer, Oracle, Step


def of_leaves(answers: Sequence[Answer], step: Step) -> list[float]:
    """Every leaf a piece of its own below the root: 2 V - V(root), V what the others' mean leaves of R."""
    if len(set(rewards(answers, step))) == 1:
        return [0.0] * len(answers)
    values, lengths = leave_one_out(answers, step), [int(answer.own.sum()) for answer in answers]
    root = sum(v * n for v, n in zip(values, lengths, strict=True)) / sum(lengths)
    chosen = sum(answer.in_loss for answer in answers)
    return [2 * (v - root) + root / max(1, chosen) ** 0.5 for v in values]


ORACLES = {
    "treerl": Oracle(of_leaves, clipped(0.2, 0.26), own_mean),
}
# the five rows of tests/objective/test_objective.py: leave-one-out 1, -1/2, -1/2 of lengths 2, 1, 3, whose mean
# by length is 0, so twice that; the clip ends at 1.26
FIVE_ROWS = {"treerl": [[-0.2, -0.25], [0.0], [1 / 15, 0.9 / 15, 12 / 15], [0.0], [0.0, 0.0]]}
