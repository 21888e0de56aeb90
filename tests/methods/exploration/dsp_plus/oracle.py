"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

# the paper has no loss: these are the defaults, which no row reaches
ORACLES = {
    "dsp-plus": Oracle(standardised(), clipped(), over_tokens),
    "dsp-plus-undrafted": Oracle(standardised(), clipped(), over_tokens),
}
