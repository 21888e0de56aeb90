"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, leave_one_out, over_tokens, whitened
from oracles import Oracle

ORACLES = {"prime-filter": Oracle(leave_one_out, clipped(entropy=0.001), over_tokens, shape=whitened())}
