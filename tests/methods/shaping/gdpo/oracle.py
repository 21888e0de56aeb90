"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised, whitened
from oracles import Oracle

ORACLES = {
    "gdpo": Oracle(standardised(), clipped(), over_tokens, shape=whitened()),
}
