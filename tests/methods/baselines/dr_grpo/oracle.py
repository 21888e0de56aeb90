"""What the paper says of the tokens of a step, in plain Python."""

from formulas import centred, clipped, fixed_length
from oracles import Oracle

ORACLES = {
    "dr-grpo": Oracle(centred, clipped(), fixed_length),
}
