"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from formulas import centred, clipped, over_tokens, rewards
from oracles import Answer, Oracle, Step


def by_the_mean(answers: Sequence[Answer], step: Step) -> list[float]:
    """(R - mean R) / mean R."""
    found = rewards(answers, step)
    return [a / mean(found) if a else 0.0 for a in centred(answers, step)]


ORACLES = {
    "maxrl": Oracle(by_the_mean, clipped(), over_tokens),
}
