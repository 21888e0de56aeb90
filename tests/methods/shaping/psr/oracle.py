"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import Advantages, clipped, over_tokens
from oracles import Oracle


def signed(right: float) -> Advantages:
    """`right` for an answer that is right, -1 for the others."""
    return lambda answers, step: [right if answer.reward > 0 else -1.0 for answer in answers]


ORACLES = {
    "psr": Oracle(signed(1.0), clipped(), over_tokens),
    "nsr": Oracle(signed(1.0), clipped(), over_tokens),
    "w-reinforce": Oracle(signed(0.1), clipped(), over_tokens),
}
