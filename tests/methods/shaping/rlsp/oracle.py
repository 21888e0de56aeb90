"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, discounted, own_mean, rewards, whitened
from oracles import Oracle

ORACLES = {
    "rlsp": Oracle(rewards, clipped(), own_mean, spread=discounted, shape=whitened()),
}
