"""What the paper says of the tokens of a step, in plain Python."""

from statistics import pstdev

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "wemath2": Oracle(standardised(spread=pstdev), clipped(0.2, 0.3, 3.0, kl=0.01), over_tokens),
}
