"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

from formulas import centred, over_tokens, plain, rewards
from oracles import Answer, Oracle, Step, by_group


def by_the_share_of_mixed_groups(answers: Sequence[Answer], step: Step) -> list[float]:
    """(R - mean R) times all answers of the step over those of groups whose rewards differ."""
    mixed = [group for group in step.groups(by_group) if len(set(rewards(group, step))) > 1]
    return [a * len(step.answers) / max(1, sum(map(len, mixed))) for a in centred(answers, step)]


ORACLES = {
    "gpg": Oracle(by_the_share_of_mixed_groups, plain, over_tokens),
}
# the mean of 1, 0, 0 (tests/objective/test_objective.py) is 1/3; three of five rows contribute
FIVE_ROWS = {"gpg": [[-10 / 81] * 2, [5 / 81], [5 / 81] * 3, [0.0], [0.0, 0.0]]}
