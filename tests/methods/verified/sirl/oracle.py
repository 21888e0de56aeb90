"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, rewards, whitened
from oracles import Oracle

ORACLES = {
    "sirl": Oracle(rewards, clipped(0.2, 0.3), over_tokens, shape=whitened(0)),
    "sirl-vote": Oracle(rewards, clipped(0.2, 0.3), over_tokens, shape=whitened(0)),
}
