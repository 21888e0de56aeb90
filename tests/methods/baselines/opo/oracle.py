"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import over_tokens, plain, rewards
from oracles import Answer, Oracle, Step


def beyond_the_mean_by_length(answers: Sequence[Answer], step: Step) -> list[float]:
    """R - sum T R / sum T, over the tokens that the policy wrote."""
    lengths = [int(answer.own.sum()) for answer in answers]
    middle = sum(n * answer.reward for n, answer in zip(lengths, answers, strict=True)) / sum(lengths)
    alike = len(set(rewards(answers, step))) == 1
    return [0.0 if alike else answer.reward - middle for answer in answers]


ORACLES = {
    "opo": Oracle(beyond_the_mean_by_length, plain, over_tokens),
}
# the mean by length of 1, 0, 0 (tests/objective/test_objective.py) is 2/6, without ratio
FIVE_ROWS = {"opo": [[-2 / 27] * 2, [1 / 27], [1 / 27] * 3, [0.0], [0.0, 0.0]]}
