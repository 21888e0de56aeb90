"""What the paper says of the tokens of a step, in plain Python."""

from formulas import centred, clipped, over_tokens, whitened
from oracles import Oracle

ORACLES = {
    "spo-tree": Oracle(centred, clipped(kl=0.0001), over_tokens, shape=whitened()),
}
