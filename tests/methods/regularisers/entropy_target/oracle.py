"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "entropy-target": Oracle(standardised(), clipped(entropy=1.0), over_tokens),
}
