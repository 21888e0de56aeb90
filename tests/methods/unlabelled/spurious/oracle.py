"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {
    "spurious-random": Oracle(standardised(), clipped(), own_mean),
    "spurious-format": Oracle(standardised(), clipped(), own_mean),
    "spurious-incorrect": Oracle(standardised(), clipped(), own_mean),
    "spurious-majority": Oracle(standardised(), clipped(), own_mean),
}
