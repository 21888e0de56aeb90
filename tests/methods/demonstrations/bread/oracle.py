"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {"bread": Oracle(standardised(), clipped(kl=0.04), own_mean)}
