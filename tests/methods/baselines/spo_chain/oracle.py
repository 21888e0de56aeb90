"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, rewards, whitened
from oracles import Oracle

ORACLES = {
    "spo-chain": Oracle(rewards, clipped(kl=0.0001), over_tokens, shape=whitened()),
}
