"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import centred, mean_of, own_mean, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def expected(answer: Answer, step: Step) -> Tensor:
    """The clip on the answer's likelihood over what the group's sampler expects it to be."""
    others = [other for other in step.answers if other.group == answer.group and other.trained.any()]
    likely = torch.stack([mean_of(other, other.mu).exp() for other in others])
    ratio = mean_of(answer, answer.logp).exp() / ((likely / likely.sum()) * likely).sum()
    return surrogate(ratio, torch.tensor(answer.worth, dtype=torch.float64), 0.2, 0.2).expand(len(answer.logp))


ORACLES = {
    "gepo": Oracle(centred, expected, own_mean, rounded=True),
}
