"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle

ORACLES = {
    "vr-rule": Oracle(standardised(), clipped(kl=0.04), own_mean),
    "vr-gate": Oracle(standardised(), clipped(kl=0.04), own_mean),
}
