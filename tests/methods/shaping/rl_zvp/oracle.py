"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import clipped, over_tokens, rewards, standard
from oracles import Answer, Oracle, Step


def by_entropy_where_alike(answers: Sequence[Answer], step: Step) -> list[list[float]]:
    """0.1 H where all are right, -0.1 (max H - H) where all are wrong; H of the sampler."""
    hesitated = [answer.hesitated[answer.own].tolist() for answer in answers]
    found = rewards(answers, step)
    if len(set(found)) > 1:
        return [[a] * len(h) for a, h in zip(standard(found), hesitated, strict=True)]
    if found[0] > 0:
        return [[0.1 * x for x in h] for h in hesitated]
    return [[-0.1 * (max(h) - x) for x in h] for h in hesitated]


ORACLES = {
    "rl-zvp": Oracle(by_entropy_where_alike, clipped(0.2, 0.28), over_tokens),
}
