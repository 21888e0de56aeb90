"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import torch
from formulas import over_tokens, standardised, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def covariances(step: Step) -> list[Tensor]:
    """(A - mean A) (log pi - mean log pi) of each token of each answer, means over all that train."""
    logp = torch.cat([answer.logp.detach()[answer.trained] for answer in step.answers])
    count = [int(answer.trained.sum()) for answer in step.answers]
    middle = sum(answer.worth * n for answer, n in zip(step.answers, count, strict=True)) / sum(count)
    return [(answer.worth - middle) * (answer.logp.detach() - logp.mean()) for answer in step.answers]


def without_the_lost(answer: Answer, step: Step) -> Tensor:
    """The clip at 0 and 2 without the tokens that chance has taken from those of a covariance between 1 and 5."""
    here = next(place for place, other in enumerate(step.answers) if other is answer)
    between = (covariances(step)[here] > 1.0) & (covariances(step)[here] < 5.0)
    may = answer.trained & between & ~((answer.worth > 0) & (answer.ratio > 2.0))
    assert answer.lost is not None and not (answer.lost & ~may).any()
    return surrogate(answer.ratio, answer.advantage, 1.0, 1.0) * ~answer.lost


def near_where_covariant(answer: Answer, step: Step) -> Tensor:
    """-w A, and |log pi - log old| of the largest max(1, floor(0.002 N)) covariances."""
    found = covariances(step)
    every = torch.cat([c[other.trained] for other, c in zip(step.answers, found, strict=True)])
    edge = every.sort(descending=True).values[max(1, int(2e-3 * len(every))) - 1]
    here = next(place for place, other in enumerate(step.answers) if other is answer)
    worst = (found[here] >= edge) & answer.trained
    return -answer.ratio * answer.advantage + worst * (answer.logp - answer.old).abs()


ORACLES = {
    "clip-cov": Oracle(standardised(), without_the_lost, over_tokens, chance="Covariance"),
    "kl-cov": Oracle(standardised(), near_where_covariant, over_tokens),
}
