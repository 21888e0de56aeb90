"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import mean_of, own_mean, standardised
from oracles import Answer, Oracle, Step
from torch import Tensor


def geometric(answer: Answer, step: Step) -> Tensor:
    """The geometric mean of ratios that are clipped at e^-0.4 and e^0.4, one number for all tokens."""
    far, sign = answer.logp - answer.old, (answer.worth > 0) - (answer.worth < 0)
    held = sign * torch.minimum(sign * far, sign * far.clamp(-0.4, 0.4))
    return (-answer.worth * mean_of(answer, held).exp()).expand(len(far))


ORACLES = {
    "gmpo": Oracle(standardised(), geometric, own_mean),
}
