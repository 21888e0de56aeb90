"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def hesitant_tokens_more(answer: Answer, step: Step) -> Tensor:
    """DAPO's clip with A + min(0.4 H, |A| / 2), H the sampler's entropy."""
    more = torch.minimum(0.4 * answer.hesitated, answer.advantage.abs() / 2)
    return surrogate(answer.ratio, answer.advantage + more, 0.2, 0.28, 10.0)


ORACLES = {
    "entropy-advantage": Oracle(standardised(), hesitant_tokens_more, over_tokens, rounded=True),
}
