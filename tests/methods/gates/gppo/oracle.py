"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import over_tokens, standardised
from oracles import Answer, Oracle, Step
from torch import Tensor


def preserving(answer: Answer, step: Step) -> Tensor:
    """Where PPO clips, the gradient stays that of the bound."""
    w = answer.ratio
    held = torch.minimum(torch.maximum(w, 0.8 * w / w.detach()), 1.28 * w / w.detach())
    return torch.maximum(-w * answer.advantage, -held * answer.advantage)


def likelihood_of_right_answers(step: Step) -> Tensor:
    liked = [answer.logp[answer.trained] for answer in step.answers if answer.right and answer.counted]
    every = torch.cat(liked)
    return -0.1 * every.sum() / max(1, len(every))


ORACLES = {
    "gppo": Oracle(standardised(), preserving, over_tokens, also=likelihood_of_right_answers, rounded=True),
}
