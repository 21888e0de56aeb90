"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import k3, own_mean, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def near_the_reference(answer: Answer, step: Step) -> Tensor:
    """PPO's clip and 0.04 k3 weighted by the ratio, which the gradient goes through too."""
    loss = surrogate(answer.ratio, answer.advantage, 0.2, 0.2)
    return loss + 0.04 * answer.ratio * k3(answer.logp, answer.ref)


ORACLES = {
    "kl-reference": Oracle(standardised(), near_the_reference, own_mean),
}
