"""What the paper says of the tokens of a step, in plain Python."""

from formulas import centred, clipped, over_tokens
from oracles import Oracle

ORACLES = {
    "deepsearch": Oracle(centred, clipped(0.2, 0.28, 10.0), over_tokens),
}
# the five rows of tests/objective/test_objective.py, 9 tokens: advantages 2/3, -1/3, -1/3; the clip
# ends at 1.28, and at 10 below
FIVE_ROWS = {"deepsearch": [[-2 / 27, -1.25 * 2 / 27], [0.0], [1 / 27, 0.9 / 27, 0.0], [0.0], [0.0, 0.0]]}
