"""What the paper says of the tokens of a step, in plain Python: without a critic's values the reward alone."""

from formulas import clipped, over_tokens, rewards, whitened
from oracles import Oracle

ORACLES = {
    "retool": Oracle(rewards, clipped(0.2, 0.28, 10.0), over_tokens, shape=whitened()),
}
