"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "verltool": Oracle(standardised(), clipped(), over_tokens),
    "verltool-dapo": Oracle(standardised(), clipped(0.2, 0.28, 10.0), over_tokens),
}
