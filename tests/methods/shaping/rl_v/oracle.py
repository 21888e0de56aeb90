"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import k3, own_mean, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def solving(answer: Answer, step: Step) -> Tensor:
    """PPO's clip; answers to the problem have 0.04 k3 beside it, verdicts none."""
    loss = surrogate(answer.ratio, answer.advantage, 0.2, 0.2)
    return loss if answer.hinted else loss + 0.04 * k3(answer.logp, answer.ref)


ORACLES = {
    "rl-v": Oracle(standardised(), solving, own_mean),
}
