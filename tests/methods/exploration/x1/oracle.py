"""What the paper says of the tokens of a step, in plain Python."""

from formulas import centred, clipped, over_tokens
from oracles import Oracle

ORACLES = {
    "x1": Oracle(centred, clipped(kl=0.01), over_tokens),
}
