"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "rubric-anchors": Oracle(standardised(), clipped(), over_tokens),
    "rubric-anchors-role": Oracle(standardised(), clipped(), over_tokens),
}
