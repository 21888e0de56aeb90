"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import math

from formulas import centred, clipped, over_tokens, rewards, surrogate, whitened
from oracles import Answer, Oracle, Step
from torch import Tensor


def near_the_reference(answer: Answer, step: Step) -> Tensor:
    """PPO's clip and 1e-5 times k2."""
    return surrogate(answer.ratio, answer.advantage, 0.2, 0.2) + 1e-5 * (answer.ref - answer.logp).square() / 2


ORACLES = {
    "rfpp": Oracle(rewards, clipped(), over_tokens, shape=whitened(0)),
    "rfpp-baseline": Oracle(centred, near_the_reference, over_tokens, shape=whitened(0)),
}
# 5 tokens with 1 and 4 with 0 (tests/objective/test_objective.py): mean 5/9, variance 20/81; centred they are 2/3 twice
# and -1/3 four times, of mean 0 and variance 4/27, and k2 adds -log 2 once
W, S = 9 / math.sqrt(20), math.sqrt(3)
FIVE_ROWS = {
    "rfpp": [[-4 * W / 81, 0.0], [0.0], [5 * W / 81, 4.5 * W / 81, 60 * W / 81], [-4 * W / 81], [-4 * W / 81, 0.0]],
    "rfpp-baseline": [[-S / 9, -1e-5 * math.log(2) / 9], [0.0], [S / 18, 0.9 * S / 18, 12 * S / 18], [0.0], [0.0, 0.0]],
}
