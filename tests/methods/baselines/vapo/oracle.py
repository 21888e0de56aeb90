"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import clipped, over_tokens, rewards, whitened
from oracles import Oracle, Step
from torch import Tensor


def by_length(worth: float, length: int) -> list[float]:
    """1 / (1 - lambda) is 0.05 * 20480 tokens at the limit of 8, and less in proportion."""
    keep = 1 - 1 / (0.05 * 20480 / 8 * length) if length else 0.0
    return [worth * keep ** (length - 1 - t) for t in range(length)]


def likelihood_of_right_answers(step: Step) -> Tensor:
    liked = [answer for answer in step.answers if answer.right and answer.counted]
    count = sum(answer.length for answer in liked if answer.in_loss)
    return sum((-0.1 / count * answer.logp[answer.trained].sum() for answer in liked), torch.zeros(()))


ORACLES = {
    "vapo": Oracle(
        rewards,
        clipped(0.2, 0.28),
        over_tokens,
        spread=by_length,
        shape=whitened(),
        also=likelihood_of_right_answers,
        rounded=True,
    ),
}
