"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "l1-exact": Oracle(standardised(), clipped(kl=0.001), over_tokens),
    "l1-max": Oracle(standardised(), clipped(kl=0.001), over_tokens),
}
