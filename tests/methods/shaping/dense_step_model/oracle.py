"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, leave_one_out, over_tokens
from oracles import Oracle

ORACLES = {
    "dense-step-model": Oracle(leave_one_out, clipped(kl=0.001), over_tokens),
}
