"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import clipped, k3, over_tokens, rewards, standardised, surrogate, whitened
from oracles import Answer, Oracle, Step
from torch import Tensor


def near_the_old(answer: Answer, step: Step) -> Tensor:
    """PPO's clip and k3 to the old policy, weighted by the ratio."""
    loss = surrogate(answer.ratio, answer.advantage, 0.2, 0.2)
    return loss + answer.ratio * k3(answer.logp, answer.old)


ORACLES = {
    "ppo": Oracle(rewards, clipped(0.2, 0.2, 3.0), over_tokens, shape=whitened()),
    "kl-old": Oracle(standardised(), near_the_old, over_tokens),
}
