"""What the paper says of the tokens of a step, in plain Python."""

from formulas import ones, over_tokens
from oracles import Answer, Oracle, Step
from torch import Tensor


def by_probability(answer: Answer, step: Step) -> Tensor:
    """-sg(pi) log pi."""
    return -answer.advantage * answer.logp.exp().detach() * answer.logp


ORACLES = {"dft": Oracle(ones, by_probability, over_tokens)}
