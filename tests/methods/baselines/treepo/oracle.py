"""What the paper says of the tokens of a step, in plain Python."""

from formulas import centred, clipped, over_tokens, whitened
from oracles import Oracle

ORACLES = {
    "treepo": Oracle(centred, clipped(0.2, 0.28, 10.0), over_tokens, shape=whitened()),
}
