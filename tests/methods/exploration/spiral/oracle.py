"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import clipped, fixed_length
from oracles import Answer, Oracle, Step


def beyond_a_moving_mean(answers: Sequence[Answer], step: Step) -> list[float]:
    """R_i - b_i, where b_1 = 0 and b_(i+1) = 0.95 b_i + 0.05 R_i: all answers of the step are of one role, which plays
    for the first time.
    """
    earlier = {id(answer): step.answers[:place] for place, answer in enumerate(step.answers)}
    weighed = {
        name: sum(0.05 * 0.95**ago * before.reward for ago, before in enumerate(reversed(others)))
        for name, others in earlier.items()
    }
    return [answer.reward - weighed[id(answer)] for answer in answers]


ORACLES = {
    "spiral": Oracle(beyond_a_moving_mean, clipped(0.2, 0.2), fixed_length),
}
