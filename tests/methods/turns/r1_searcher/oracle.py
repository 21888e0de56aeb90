"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {
    "r1-searcher": Oracle(standardised(), clipped(), own_mean),
}
