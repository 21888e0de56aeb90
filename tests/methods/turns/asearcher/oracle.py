"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import centred, over_tokens, surrogate, whitened
from oracles import Answer, Oracle, Step
from torch import Tensor


def decoupled(answer: Answer, step: Step) -> Tensor:
    """PPO's clip to the old policy, times its ratio to the sampler, without tokens where that is above 5."""
    behind = (answer.old - answer.mu).exp()
    return surrogate(answer.ratio, answer.advantage, 0.4, 0.4) * behind * (behind <= 5.0)


ORACLES = {
    "asearcher": Oracle(centred, decoupled, over_tokens, shape=whitened()),
}
