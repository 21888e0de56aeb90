"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {
    "rlve": Oracle(standardised(), clipped(0.2, 0.28), own_mean),
}
