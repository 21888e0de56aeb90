"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Callable

from formulas import TokenLoss, centred, fixed_length
from oracles import Answer, Oracle, Step
from torch import Tensor


def masked(left: Callable[[Answer], Tensor]) -> TokenLoss:
    """-w A log pi with the sampler's ratio up to 20, without the tokens that have left."""

    def token_loss(answer: Answer, step: Step) -> Tensor:
        ratio = (answer.logp - answer.mu).exp().clamp(max=20.0).detach()
        return -ratio * answer.advantage * answer.logp * ~left(answer)

    return token_loss


def by_variation(answer: Answer) -> Tensor:
    """More than 0.15 of probability away, in the direction of A."""
    p, q = answer.logp.detach().exp(), answer.mu.exp()
    return (p - q > 0.15) if answer.worth > 0 else (p - q < -0.15)


def by_divergence(answer: Answer) -> Tensor:
    """More than 0.05 nats of the divergence of two outcomes away, in the direction of A."""
    p, q = answer.logp.detach().exp(), answer.mu.exp()
    far = q * (q / p).log() + (1 - q) * ((1 - q) / (1 - p)).log() > 0.05
    return far & ((p > q) if answer.worth > 0 else (p < q))


ORACLES = {
    "dppo": Oracle(centred, masked(by_variation), fixed_length),
    "dppo-kl": Oracle(centred, masked(by_divergence), fixed_length),
}
