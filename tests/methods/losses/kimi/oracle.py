"""What the paper says of the tokens of a step, in plain Python."""

from formulas import centred, over_rows
from oracles import Answer, Oracle, Step
from torch import Tensor


def squared(answer: Answer, step: Step) -> Tensor:
    """-A log pi and 0.1 (log pi - log old)^2 / 2 of the whole answer, of which each token has an even part."""
    apart = (answer.logp - answer.old)[answer.trained]
    return -answer.advantage * answer.logp + 0.1 * apart.sum().square() / 2 / len(apart)


ORACLES = {"kimi-k1.5": Oracle(centred, squared, over_rows)}
