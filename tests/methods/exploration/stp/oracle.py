"""What the paper says of the tokens of a step, in plain Python."""

from formulas import ones, over_tokens, plain
from oracles import Oracle

ORACLES = {"stp": Oracle(ones, plain, over_tokens), "stp-alone": Oracle(ones, plain, over_tokens)}
