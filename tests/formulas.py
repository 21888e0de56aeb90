"""What several papers write alike, for the oracles of methods: advantages, losses of tokens, weights of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, stdev

import torch
from oracles import Answer, Rows, Step
from torch import Tensor

Advantages = Callable[[Sequence[Answer], Step], list[float]]
TokenLoss = Callable[[Answer, Step], Tensor]


# Advantages of the answers of a group


def rewards(answers: Sequence[Answer], step: Step) -> list[float]:
    return [answer.reward for answer in answers]


def ones(answers: Sequence[Answer], step: Step) -> list[float]:
    return [1.0] * len(answers)


def zeros(answers: Sequence[Answer], step: Step) -> list[float]:
    return [0.0] * len(answers)


def centred(answers: Sequence[Answer], step: Step) -> list[float]:
    """R - mean R."""
    found = rewards(answers, step)
    return [r - mean(found) for r in found]


def standardised(epsilon: float = 1e-6, spread: Callable[[Sequence[float]], float] = stdev) -> Advantages:
    """(R - mean R) / (deviation of R + epsilon); 0 where all are alike."""

    def advantages(answers: Sequence[Answer], step: Step) -> list[float]:
        return standard(rewards(answers, step), epsilon, spread)

    return advantages


def standard(
    values: Sequence[float], epsilon: float = 1e-6, spread: Callable[[Sequence[float]], float] = stdev
) -> list[float]:
    if len(set(values)) == 1:
        return [0.0] * len(values)
    return [(r - mean(values)) / (spread(values) + epsilon) for r in values]


def leave_one_out(answers: Sequence[Answer], step: Step) -> list[float]:
    """R - mean of the others' R."""
    found = rewards(answers, step)
    return [r - (sum(found) - r) / (len(found) - 1) if len(set(found)) > 1 else 0.0 for r in found]


# Over tokens


def discounted(worth: float, length: int) -> list[float]:
    """lambda = 0.95 and no critic: A 0.95^(T - 1 - t)."""
    return [worth * 0.95 ** (length - 1 - t) for t in range(length)]


def whitened(ddof: int = 1, epsilon: float = 1e-8) -> Callable[[Rows], list[list[float]]]:
    """All tokens of the step to mean 0 and deviation 1."""

    def shape(rows: Rows) -> list[list[float]]:
        every = [a for row in rows for a in row]
        deviation = (sum((a - mean(every)) ** 2 for a in every) / (len(every) - ddof)) ** 0.5
        return [[(a - mean(every)) / (deviation + epsilon) for a in row] for row in rows]

    return shape


# Losses of tokens


def surrogate(ratio: Tensor, advantage: Tensor, low: float, high: float, dual: float | None = None) -> Tensor:
    """max(-w A, -clip(w, 1 - low, 1 + high) A), and where A < 0 at most -dual A."""
    loss = torch.maximum(-ratio * advantage, -ratio.clamp(1 - low, 1 + high) * advantage)
    return loss if dual is None else torch.where(advantage < 0, torch.minimum(loss, -dual * advantage), loss)


def k3(logp: Tensor, ref: Tensor) -> Tensor:
    """The estimator of KL that is never negative."""
    return (ref - logp).exp() - (ref - logp) - 1


def plain(answer: Answer, step: Step) -> Tensor:
    """-A log pi."""
    return -answer.advantage * answer.logp


def clipped(
    low: float = 0.2, high: float = 0.2, dual: float | None = None, *, kl: float = 0.0, entropy: float = 0.0
) -> TokenLoss:
    """PPO's surrogate, with `kl` times k3 to the reference, less `entropy` times the entropy."""

    def token_loss(answer: Answer, step: Step) -> Tensor:
        loss = surrogate(answer.ratio, answer.advantage, low, high, dual)
        return loss + kl * k3(answer.logp, answer.ref) - entropy * answer.entropy

    return token_loss


def mean_of(answer: Answer, values: Tensor) -> Tensor:
    """Over the tokens of an answer that train."""
    return values[answer.trained].mean()


# Weights of tokens


def over_rows(answer: Answer, step: Step) -> float:
    """A sum over each answer, a mean over answers."""
    return 1 / step.rows


def own_mean(answer: Answer, step: Step) -> float:
    """A mean over each answer, then over answers."""
    return 1 / (step.rows * max(answer.length, 1))


def over_tokens(answer: Answer, step: Step) -> float:
    """A mean over all tokens."""
    return 1 / step.tokens


def fixed_length(answer: Answer, step: Step) -> float:
    """Each answer counts as if it were as long as an answer may be."""
    return 1 / (step.rows * step.max_new)
