"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

from formulas import clipped, leave_one_out, over_tokens, whitened
from oracles import Answer, Oracle, Step


def weighted(answers: Sequence[Answer], step: Step) -> list[float]:
    """Five times leave-one-out, on rows without rewards of steps."""
    return [5 * a for a in leave_one_out(answers, step)]


ORACLES = {
    "prime": Oracle(weighted, clipped(entropy=0.001), over_tokens, shape=whitened()),
}
# five times leave-one-out (tests/objective/test_objective.py): 5, 5, four times -2.5 and three times 0, of mean 0; what
# the entropy adds is no coefficient of log pi
Q = 1 / math.sqrt(75 / 8)
FIVE_ROWS = {"prime": [[-5 * Q / 9, 0.0], [0.0], [2.5 * Q / 9, 2.25 * Q / 9, 30 * Q / 9], [0.0], [0.0, 0.0]]}
