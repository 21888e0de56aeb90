"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import over_tokens, standardised
from oracles import Answer, Oracle, Step
from torch import Tensor


def bounded(answer: Answer, step: Step) -> Tensor:
    """-min(w, 5) A log pi, the weight without a gradient."""
    return -answer.ratio.clamp(max=5.0).detach() * answer.advantage * answer.logp


ORACLES = {
    "cispo": Oracle(standardised(), bounded, over_tokens),
}
