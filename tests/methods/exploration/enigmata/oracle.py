"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, discounted, over_tokens, rewards, whitened
from oracles import Oracle

ORACLES = {
    "enigmata": Oracle(rewards, clipped(), over_tokens, spread=discounted, shape=whitened()),
    "enigmata-staged": Oracle(rewards, clipped(), over_tokens, spread=discounted, shape=whitened()),
}
