"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "sr-scientist": Oracle(standardised(), clipped(), over_tokens),
}
