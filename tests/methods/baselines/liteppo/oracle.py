"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, stdev

from formulas import clipped, over_tokens, rewards
from oracles import Answer, Oracle, Step


def scaled_by_the_step(answers: Sequence[Answer], step: Step) -> list[float]:
    """The mean of the group, the deviation of all rewards of the step."""
    found = rewards(answers, step)
    if len(set(found)) == 1:
        return [0.0] * len(found)
    return [(r - mean(found)) / (stdev(rewards(step.answers, step)) + 1e-6) for r in found]


ORACLES = {
    "liteppo": Oracle(scaled_by_the_step, clipped(), over_tokens),
}
# of all five rewards (tests/objective/test_objective.py): unbiased variance 0.3
L = 1 / (math.sqrt(0.3) + 1e-6)
FIVE_ROWS = {"liteppo": [[-2 * L / 27, 0.0], [0.0], [L / 27, 0.9 * L / 27, 12 * L / 27], [0.0], [0.0, 0.0]]}
