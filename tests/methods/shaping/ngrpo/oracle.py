"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import clipped, over_tokens, rewards, standard
from oracles import Answer, Oracle, Step


def with_a_right_one(answers: Sequence[Answer], step: Step) -> list[float]:
    """As if the group had one answer more, which is right."""
    return standard([*rewards(answers, step), 1.0])[:-1]


ORACLES = {
    "ngrpo": Oracle(with_a_right_one, clipped(0.16, 0.24), over_tokens),
}
