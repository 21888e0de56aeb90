"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {
    "co-reward": Oracle(standardised(), clipped(kl=0.005), own_mean),
    "co-reward-teacher": Oracle(standardised(), clipped(kl=0.001), own_mean),
}
