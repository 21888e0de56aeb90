"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev

from formulas import centred, clipped, over_tokens, rewards
from oracles import Answer, Oracle, Step


def by_cell(answer: Answer) -> str:
    """All answers of a role to a task are compared."""
    return answer.cell


def by_variance(answers: Sequence[Answer], step: Step) -> list[float]:
    """(R - mean R) / sqrt(variance + 1e-8)."""
    found = rewards(answers, step)
    return [a / (stdev(found) ** 2 + 1e-8) ** 0.5 if a else 0.0 for a in centred(answers, step)]


ORACLES = {
    "azr": Oracle(by_variance, clipped(), over_tokens, compared=by_cell),
}
# the five rows of tests/objective/test_objective.py, one cell: mean 0.6, unbiased variance 0.3
C = 1 / (9 * math.sqrt(0.3 + 1e-8))
FIVE_ROWS = {"azr": [[-0.4 * C, 0.0], [0.0], [0.6 * C, 0.54 * C, 7.2 * C], [-0.4 * C], [-0.4 * C, 0.0]]}
