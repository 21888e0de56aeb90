"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def popped(answer: Answer, step: Step) -> Tensor:
    """DAPO's clip times old / sampler, without tokens where that is below 0.5 or above 5."""
    behind = (answer.old - answer.mu).exp()
    return behind * ((behind >= 0.5) & (behind <= 5.0)) * surrogate(answer.ratio, answer.advantage, 0.2, 0.28, 10.0)


ORACLES = {
    "icepop": Oracle(standardised(), popped, over_tokens),
}
