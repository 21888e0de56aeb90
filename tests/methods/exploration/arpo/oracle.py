"""What the paper says of the tokens of a step, in plain Python."""

import math

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "arpo": Oracle(standardised(), clipped(), over_tokens),
    "arpo-both": Oracle(standardised(), clipped(), over_tokens),
}
# the five rows of tests/objective/test_objective.py, 9 tokens; the clip ends at 1.2, and nowhere below
A = (2 / 3) / (math.sqrt(1 / 3) + 1e-6)
FIVE_ROWS = {"arpo": [[-A / 9, 0.0], [0.0], [A / 18, 0.9 * A / 18, 12 * A / 18], [0.0], [0.0, 0.0]]}
