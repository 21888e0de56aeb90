"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import centred, k3, mean_of, own_mean, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def followed(answer: Answer, step: Step) -> Tensor:
    """Wrong answers that the policy has left by 0.5 nats a token have no loss but the KL, weighted by the ratio."""
    fallen = mean_of(answer, answer.mu - answer.logp.detach())
    kept = not (answer.worth < 0 and bool(fallen > 0.5))
    loss = surrogate(answer.ratio, answer.advantage, 0.2, 0.2) * kept
    return loss + 0.001 * answer.ratio * k3(answer.logp, answer.ref)


ORACLES = {
    "sequence-mask": Oracle(centred, followed, own_mean),
}
