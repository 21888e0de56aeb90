"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, rewards, whitened
from oracles import Oracle

ORACLES = {
    "heimdall": Oracle(rewards, clipped(0.2, 0.2, 3.0), over_tokens, shape=whitened()),
}
