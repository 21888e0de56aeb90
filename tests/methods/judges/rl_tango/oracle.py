"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import k3, own_mean, rewards, standard, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def halved(answers: Sequence[Answer], step: Step) -> list[float]:
    """Half of what GRPO says: no steps here, whose share at the start is a half."""
    return [a / 2 for a in standard(rewards(answers, step))]


def weighted_divergence(answer: Answer, step: Step) -> Tensor:
    """PPO's clip and 0.001 k3 weighted by the ratio, which the gradient goes through too."""
    loss = surrogate(answer.ratio, answer.advantage, 0.2, 0.2)
    return loss + 0.001 * answer.ratio * k3(answer.logp, answer.ref)


ORACLES = {
    "rl-tango": Oracle(halved, weighted_divergence, own_mean),
}
