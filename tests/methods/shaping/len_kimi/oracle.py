"""What the paper says of the tokens of a step, in plain Python."""

from formulas import centred, clipped, over_tokens
from oracles import Oracle

ORACLES = {
    "len-kimi": Oracle(centred, clipped(), over_tokens),
}
