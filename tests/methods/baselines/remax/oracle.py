"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import over_rows, plain
from oracles import Answer, Oracle, Step
from tiny import episode, segment

from assay.types import Row


def beyond_the_greedy(answers: Sequence[Answer], step: Step) -> list[float]:
    """The last answer of a group is the greedy one."""
    return [answer.reward - answers[-1].reward for answer in answers]


def with_greedy(rows: list[Row]) -> list[Row]:
    """A greedy answer to each problem, which is not trained with."""
    worth = {"a": 1.0, "b": 0.0, "uniform": 1.0}
    asked = {"sample": 9, "prompt": "a"}
    return rows + [
        Row(
            episode([segment([1, 2], version=-1)], group=group, reward=worth.get(group, 0.5), **asked),
            tag="greedy",
            in_loss=False,
            in_denominator=False,
        )
        for group in dict.fromkeys(row.group for row in rows)
    ]


ROWS = {"remax": with_greedy}
ORACLES = {
    "remax": Oracle(beyond_the_greedy, plain, over_rows),
}
