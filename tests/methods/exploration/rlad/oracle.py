"""What the paper says of the tokens of a step, in plain Python."""

from formulas import clipped, over_tokens, standardised
from oracles import Oracle

ORACLES = {
    "rlad": Oracle(standardised(), clipped(0.2, 0.5, kl=0.001, entropy=0.001), over_tokens),
    "rlad-hierarchical": Oracle(standardised(), clipped(0.2, 0.5, kl=0.001, entropy=0.001), over_tokens),
    "rlad-two": Oracle(standardised(), clipped(0.2, 0.5, kl=0.001, entropy=0.001), over_tokens),
    "rlad-joint": Oracle(standardised(), clipped(0.2, 0.5, kl=0.001, entropy=0.001), over_tokens),
}
