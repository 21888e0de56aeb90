"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "kl-reset": Oracle(standardised(), clipped(0.2, 0.4, kl=1e-4), over_tokens),
}
