"""What the paper says of the tokens of a step, in plain Python."""

import math

from formulas import clipped, over_tokens, rewards, whitened
from oracles import Oracle

ORACLES = {
    "orz": Oracle(rewards, clipped(), over_tokens, shape=whitened(0)),
}
# 5 tokens with 1 and 4 with 0 (tests/objective/test_objective.py): mean 5/9, variance 20/81
W = 9 / math.sqrt(20)
FIVE_ROWS = {
    "orz": [[-4 * W / 81, 0.0], [0.0], [5 * W / 81, 4.5 * W / 81, 60 * W / 81], [-4 * W / 81], [-4 * W / 81, 0.0]]
}
