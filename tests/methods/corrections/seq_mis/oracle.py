"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def masked(answer: Answer, step: Step) -> Tensor:
    """DAPO's clip times old / sampler of the whole answer, nothing where that is above 2."""
    product = (answer.old - answer.mu).exp()[answer.trained].prod()
    return product * (product <= 2.0) * surrogate(answer.ratio, answer.advantage, 0.2, 0.28, 10.0)


ORACLES = {
    "seq-mis": Oracle(standardised(), masked, over_tokens),
}
