"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "rlmt": Oracle(standardised(), clipped(kl=0.001, entropy=0.001), over_tokens),
}
