"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import numpy as np
import torch
from formulas import k3, over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def hesitant(answer: Answer) -> Tensor:
    """The fifth of the policy's own tokens at which its entropy is highest."""
    own = answer.own & answer.trains
    if not own.any():
        return own
    return own & (answer.entropy.detach() > float(np.quantile(answer.entropy.detach().numpy()[own.numpy()], 0.8)))


def dual(answer: Answer, step: Step) -> Tensor:
    """Hesitant tokens have a wide clip; the others a tight one, and 0.001 k3 as a mean over such tokens alone."""
    sure = sum(int((other.own & other.trains & ~hesitant(other)).sum()) for other in step.learnt)
    wide, tight = (surrogate(answer.ratio, answer.advantage, e, e, 10.0) for e in (0.5, 0.2))
    near = 0.001 * step.tokens / max(1, sure) * k3(answer.logp, answer.ref)
    return torch.where(hesitant(answer), wide, tight + near)


ORACLES = {
    "archer": Oracle(standardised(), dual, over_tokens, rounded=True),
}
