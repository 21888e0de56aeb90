"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "codev-r1": Oracle(standardised(), clipped(0.2, 0.28), over_tokens),
}
