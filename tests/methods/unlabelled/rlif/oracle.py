"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "rlif": Oracle(standardised(), clipped(kl=0.005), over_tokens),
}
