"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def decoupled(answer: Answer, step: Step) -> Tensor:
    """PPO's clip to the old policy, times its ratio to the sampler, without tokens where that is above 5."""
    behind = (answer.old - answer.mu).exp()
    return surrogate(answer.ratio, answer.advantage, 0.2, 0.2) * behind * (behind <= 5.0)


ORACLES = {
    "areal": Oracle(standardised(), decoupled, over_tokens),
}
