"""What the paper says of the tokens of a step, in plain Python."""

from formulas import leave_one_out, over_rows, plain
from oracles import Oracle

ORACLES = {
    "rloo": Oracle(leave_one_out, plain, over_rows),
}
