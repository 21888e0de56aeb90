"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {
    "g2rpo-a": Oracle(standardised(1e-4), clipped(), own_mean),
}
