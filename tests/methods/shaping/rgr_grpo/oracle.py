"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import over_tokens, standardised
from oracles import Answer, Oracle, Step
from torch import Tensor


def unclipped(answer: Answer, step: Step) -> Tensor:
    """-A w: no answer here is a refinement."""
    return -answer.advantage * answer.ratio


ORACLES = {
    "rgr-grpo": Oracle(standardised(), unclipped, over_tokens),
    "rgr-grpo-worked": Oracle(standardised(), unclipped, over_tokens),
    "rgr-grpo-printed": Oracle(standardised(), unclipped, over_tokens),
}
