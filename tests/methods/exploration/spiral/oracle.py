"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import clipped, fixed_length
from oracles import Answer, Oracle, Step


def beyond_a_moving_mean(answers: Sequence[Answer], step: Step) -> list[float]:
    """R_i - b_i, where b_1 = 0 and b_(i+1) = 0.95 b_i + 0.05 R_i: all answers are of one role, in its first step."""
    weights = [[0.05 * 0.95 ** (i - 1 - j) for j in range(i)] for i in range(len(answers))]
    return [
        answer.reward - sum(w * before.reward for w, before in zip(own, answers, strict=False))
        for answer, own in zip(answers, weights, strict=True)
    ]


ORACLES = {
    "spiral": Oracle(beyond_a_moving_mean, clipped(0.2, 0.2), fixed_length),
}
