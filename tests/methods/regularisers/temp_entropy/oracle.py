"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "temp-entropy": Oracle(standardised(), clipped(), over_tokens),
    "temp-schedule": Oracle(standardised(), clipped(), over_tokens),
}
