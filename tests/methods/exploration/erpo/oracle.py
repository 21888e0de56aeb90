"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import clipped, over_tokens, rewards, standard
from oracles import Answer, Oracle, Step


def with_a_failure(answers: Sequence[Answer], step: Step) -> list[float]:
    """Where all are right, as if there were one failure more, which is worth -1."""
    found = rewards(answers, step)
    return standard([*found, -1.0])[:-1] if min(found) > 0 else standard(found)


ORACLES = {
    "erpo": Oracle(with_a_failure, clipped(0.2, 0.28, 10.0), over_tokens),
}
