"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import mean_of, own_mean, rewards
from oracles import Answer, Oracle, Step
from torch import Tensor


def tapered(answer: Answer, step: Step) -> Tensor:
    """-A log pi, and below 0 times the ratio of the whole answer to the sampler, at most 1."""
    taper = (answer.logp - answer.mu)[answer.trained].sum().exp().clamp(0, 1).detach() if answer.worth < 0 else 1.0
    return (-taper * answer.worth * mean_of(answer, answer.logp)).expand(len(answer.logp))


ORACLES = {
    "topr": Oracle(rewards, tapered, own_mean),
}
