"""What the paper says of the tokens of a step, in plain Python."""

from formulas import over_rows, plain, rewards
from oracles import Oracle

ORACLES = {
    "rlsc": Oracle(rewards, plain, over_rows),
}
