"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import over_tokens, zeros
from oracles import Answer, Oracle, Step
from torch import Tensor


def hesitation(answer: Answer, step: Step) -> Tensor:
    """The entropy itself."""
    return answer.entropy


ORACLES = {
    "one-shot-em": Oracle(zeros, hesitation, over_tokens),
}
