"""What the paper says of the tokens of a step, in plain Python: letters call nothing, and a verdict alone is paid."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {
    "cosine-verifier": Oracle(standardised(), clipped(), own_mean),
    "cosine-verified": Oracle(standardised(), clipped(), own_mean),
}
