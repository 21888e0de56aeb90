"""What the paper says of the tokens of a step, in plain Python. Fill in: write it from the paper, not from the code."""

from formulas import k3, own_mean, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def capped(answer: Answer, step: Step) -> Tensor:
    """min(pi_old / mu, 2) times the clipped surrogate; and 0.04 k3, which is not weighted."""
    weight = (answer.old - answer.mu).exp().clamp(max=2.0)
    return weight * surrogate(answer.ratio, answer.advantage, 0.2, 0.2) + 0.04 * k3(answer.logp, answer.ref)


ORACLES = {"my-method": Oracle(standardised(), capped, own_mean)}
