"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import leave_one_out, over_rows, plain, zeros
from oracles import Answer, Oracle, Step
from torch import Tensor


def hesitation(answer: Answer, step: Step) -> Tensor:
    """The entropy itself."""
    return answer.entropy


ORACLES = {
    "em-rl": Oracle(leave_one_out, plain, over_rows),
    "em-rl-token": Oracle(leave_one_out, plain, over_rows),
    "em-ft": Oracle(zeros, hesitation, over_rows),
}
