"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, rewards, whitened
from oracles import Oracle

ORACLES = {
    "covo": Oracle(rewards, clipped(), over_tokens, shape=whitened(0)),
}
