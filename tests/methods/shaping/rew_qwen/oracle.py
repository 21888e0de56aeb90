"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {
    "rew-qwen": Oracle(standardised(), clipped(kl=0.001), own_mean),
    "shape-rm": Oracle(standardised(), clipped(kl=0.001), own_mean),
}
