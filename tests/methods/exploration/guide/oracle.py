"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def without_the_hint(answer: Answer, step: Step) -> Tensor:
    """Answers to a hinted prompt: -A w / (w + gamma), w to the policy that had the hint."""
    if answer.hinted:
        return -answer.advantage * answer.ratio / (answer.ratio + answer.known["gamma"])
    return surrogate(answer.ratio, answer.advantage, 0.2, 0.2)


ORACLES = {
    "guide": Oracle(standardised(), without_the_hint, over_tokens, rounded=True),
}
