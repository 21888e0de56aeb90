"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def truncated(answer: Answer, step: Step) -> Tensor:
    """DAPO's clip times min(old / sampler, 2)."""
    return (answer.old - answer.mu).exp().clamp(max=2.0) * surrogate(answer.ratio, answer.advantage, 0.2, 0.28, 10.0)


ORACLES = {
    "tis": Oracle(standardised(), truncated, over_tokens),
}
