"""What the paper says of the tokens of a step, in plain Python."""

from formulas import ones, over_tokens, plain
from oracles import Oracle

ORACLES = {
    "cft-1": Oracle(ones, plain, over_tokens),
}
