"""What the paper says of the tokens of a step, in plain Python."""

from formulas import centred, fixed_length
from oracles import Answer, Oracle, Step
from torch import Tensor


def unclipped(answer: Answer, step: Step) -> Tensor:
    """-A w, less 0.001 of the entropy."""
    return -answer.advantage * answer.ratio - 0.001 * answer.entropy


ORACLES = {"relift": Oracle(centred, unclipped, fixed_length)}
