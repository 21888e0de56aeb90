"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "spec-rl": Oracle(standardised(), clipped(0.2, 0.2, 3.0, kl=0.0001, entropy=0.001), over_tokens),
}
