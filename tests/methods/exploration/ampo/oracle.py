"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import centred, fixed_length, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def with_others(answer: Answer, step: Step) -> Tensor:
    """Tokens of others: -A p / (p + 0.1); the policy's a clip; 0.001 of the entropy."""
    probability = answer.logp.exp()
    others = -answer.advantage * probability / (probability + 0.1)
    own = surrogate(answer.ratio, answer.advantage, 0.2, 0.2, 10.0)
    return torch.where(answer.given, others, own) - 0.001 * answer.entropy


ORACLES = {
    "ampo": Oracle(centred, with_others, fixed_length),
}
