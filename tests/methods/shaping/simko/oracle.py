"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import numpy as np
import torch
from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def hesitant(answer: Answer) -> Tensor:
    """The fifth of the policy's own tokens at which its entropy is highest."""
    own = answer.own & answer.trains
    if not own.any():
        return own
    return own & (answer.entropy.detach() > float(np.quantile(answer.entropy.detach().numpy()[own.numpy()], 0.8)))


def shared_among_candidates(answer: Answer, step: Step) -> Tensor:
    """At hesitant tokens: of right answers a hundredth of the gradient goes to the top candidates, of wrong ones the
    likeliest token has 1.1 times the gradient.
    """
    assert answer.top is not None
    ratio, hesitates = answer.ratio, hesitant(answer)
    if answer.right:
        shared, count = 0.99 * ratio, answer.top.shape[1]
        for k in range(count):
            candidate = (answer.top[:, k] - answer.top[:, k].detach() + 1.0).log().exp()  # 1, with log pi(k)'s gradient
            shared = shared + 0.01 / count * ratio.detach() * candidate
        return surrogate(torch.where(hesitates, shared, ratio), answer.advantage, 0.2, 0.2)
    likeliest = answer.logp.detach() >= answer.top.detach().max(-1).values
    return surrogate(ratio, torch.where(hesitates & likeliest, 1.1, 1.0) * answer.advantage, 0.2, 0.2)


ORACLES = {
    "simko": Oracle(standardised(), shared_among_candidates, over_tokens),
}
