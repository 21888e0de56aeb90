"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import over_tokens, rewards, surrogate, whitened
from oracles import Answer, Oracle, Step
from torch import Tensor


def corrected(answer: Answer, step: Step) -> Tensor:
    """PPO's clip times the old policy's ratio to the sampler, without tokens where that is above 5."""
    behind = (answer.old - answer.mu).exp()
    return surrogate(answer.ratio, answer.advantage, 0.2, 0.2) * torch.where(behind <= 5.0, behind, 0.0)


ORACLES = {
    "questa": Oracle(rewards, corrected, over_tokens, shape=whitened(0, 1e-05)),
}
