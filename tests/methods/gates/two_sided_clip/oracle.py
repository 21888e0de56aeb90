"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import k3, over_tokens, standardised
from oracles import Answer, Oracle, Step
from torch import Tensor


def two_sided(answer: Answer, step: Step) -> Tensor:
    """The ratio counts up to 4 where A is below 0; 0.001 k3, 1e-4 of the entropy."""
    w, a = answer.ratio, answer.advantage
    held = torch.maximum(-w.clamp(max=4.0) * a, -w.clamp(0.8, 1.2) * a)
    return held + 0.001 * k3(answer.logp, answer.ref) - 1e-4 * answer.entropy


ORACLES = {
    "two-sided-clip": Oracle(standardised(), two_sided, over_tokens),
}
