"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import mean_of, own_mean, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def whole(answer: Answer, step: Step) -> Tensor:
    """The clip on the geometric mean of the ratios, one number for all tokens."""
    ratio = mean_of(answer, answer.logp - answer.old).exp()
    return surrogate(ratio, torch.tensor(answer.worth, dtype=torch.float64), 3e-4, 4e-4).expand(len(answer.logp))


def token_by_token(answer: Answer, step: Step) -> Tensor:
    """The same value at each token, whose gradient is its own."""
    ratio = mean_of(answer, answer.logp - answer.old).exp().detach()
    return surrogate(ratio * (answer.logp - answer.logp.detach()).exp(), answer.advantage, 3e-4, 4e-4)


ORACLES = {
    "gspo": Oracle(standardised(), whole, own_mean),
    "gspo-token": Oracle(standardised(), token_by_token, own_mean),
}
