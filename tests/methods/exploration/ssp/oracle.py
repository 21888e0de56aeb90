"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "ssp": Oracle(standardised(), clipped(0.2, 0.285, kl=0.01), over_tokens),
}
