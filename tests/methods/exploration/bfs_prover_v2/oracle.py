"""What the paper says of the tokens of a step, in plain Python."""

from formulas import ones, over_tokens, plain
from oracles import Oracle

ORACLES = {"bfs-prover-v2": Oracle(ones, plain, over_tokens)}
