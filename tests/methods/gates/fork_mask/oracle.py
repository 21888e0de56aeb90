"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def at_forks(answer: Answer, step: Step) -> Tensor:
    """A clip at the fifth of all tokens of the step at which the entropy is highest."""
    every = torch.cat([other.entropy[other.trained] for other in step.answers]).detach()
    return surrogate(answer.ratio, answer.advantage, 0.2, 0.28) * (answer.entropy.detach() >= every.quantile(0.8))


ORACLES = {
    "fork-mask": Oracle(standardised(), at_forks, over_tokens),
}
