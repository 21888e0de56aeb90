"""What the paper says of the tokens of a step, in plain Python."""

from statistics import pstdev

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "gfpo": Oracle(standardised(spread=pstdev), clipped(0.2, 0.2, 10.0, entropy=0.001), over_tokens),
    "gfpo-efficiency": Oracle(standardised(spread=pstdev), clipped(0.2, 0.2, 10.0, entropy=0.001), over_tokens),
    "gfpo-adaptive": Oracle(standardised(spread=pstdev), clipped(0.2, 0.2, 10.0, entropy=0.001), over_tokens),
}
