"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import own_mean, standardised
from oracles import Answer, Oracle, Step
from torch import Tensor


def soft(answer: Answer, step: Step) -> Tensor:
    """-4 / tau sigmoid(tau (w - 1)) A, with tau 1.05 where A is not above 0."""
    tau = torch.full_like(answer.advantage, 1.05).masked_fill(answer.advantage > 0, 1.0)
    return -4 / tau * torch.sigmoid(tau * (answer.ratio - 1)) * answer.advantage


ORACLES = {
    "sapo": Oracle(standardised(), soft, own_mean),
}
