"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import k3, over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def weighted_divergence(answer: Answer, step: Step) -> Tensor:
    """PPO's clip and 0.001 k3 weighted by the ratio, which the gradient goes through too."""
    loss = surrogate(answer.ratio, answer.advantage, 0.2, 0.2)
    return loss + 0.001 * answer.ratio * k3(answer.logp, answer.ref)


ORACLES = {
    "remix": Oracle(standardised(), weighted_divergence, over_tokens),
}
