"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import mean, pstdev

from formulas import clipped, over_tokens
from oracles import Answer, Oracle, Step


def pass_at_2(answers: Sequence[Answer], step: Step) -> list[float]:
    """Over all pairs with an answer: the mean of (best - mean of best) / deviation of best."""
    right = [answer.reward > 0 for answer in answers]
    pairs = list(itertools.combinations(range(len(right)), 2))
    best = [float(any(right[i] for i in chosen)) for chosen in pairs]
    value = [(b - mean(best)) / (pstdev(best) + 1e-6) for b in best]
    return [mean(v for v, chosen in zip(value, pairs, strict=True) if i in chosen) for i in range(len(right))]


ORACLES = {
    "passk": Oracle(pass_at_2, clipped(), over_tokens),
}
