"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import centred, clipped, over_tokens
from oracles import Answer, Oracle, Step


def of_leaves(answers: Sequence[Answer], step: Step) -> list[float]:
    """Every leaf a piece of its own below the root: twice R - mean R."""
    return [2 * a for a in centred(answers, step)]


ORACLES = {
    "attnrl": Oracle(of_leaves, clipped(0.2, 0.28, kl=0.001), over_tokens),
}
