"""What the paper says of the tokens of a step, in plain Python: the answers of a group that begin before anything was
said begin in one state, and no other state is visited twice.
"""

from collections.abc import Callable, Sequence
from statistics import mean

from formulas import clipped, over_tokens, standard
from oracles import Answer, Oracle, Step

GAMMA = 0.95
Scaled = Callable[[Sequence[float]], list[float]]


def turns(answer: Answer) -> list[int]:
    """For each token the number of its turn; -1 for those of replies."""
    places, turn, before = list[int](), -1, False
    for written in (answer.own | answer.given).tolist():
        turn += written and not before
        places.append(turn if written else -1)
        before = written
    return places


def both_levels(scaled: Scaled) -> Callable[[Sequence[Answer], Step], list[list[float]]]:
    """That of the answer everywhere; in its first turn also that of gamma^(turns - 1) R among the first turns."""

    def advantages(answers: Sequence[Answer], step: Step) -> list[list[float]]:
        whole = scaled([answer.reward for answer in answers])
        numbers = [max(turns(answer), default=-1) for answer in answers]
        begun = [i for i, answer in enumerate(answers) if turns(answer)[:1] == [0]]
        first = dict(zip(begun, scaled([answers[i].reward * GAMMA ** numbers[i] for i in begun]), strict=True))
        rows = [
            [whole[i] + (first.get(i, 0.0) if turn == 0 else 0.0) for turn in turns(answer)]
            for i, answer in enumerate(answers)
        ]
        return [
            [value for value, trains in zip(row, answer.trains.tolist(), strict=True) if trains]
            for row, answer in zip(rows, answers, strict=True)
        ]

    return advantages


def centred(values: Sequence[float]) -> list[float]:
    return [value - mean(values) for value in values]


def divided(values: Sequence[float]) -> list[float]:
    return standard(values) if len(values) > 1 else [0.0] * len(values)


ORACLES = {
    "gigpo": Oracle(both_levels(divided), clipped(kl=0.01), over_tokens),
    "gigpo-mean": Oracle(both_levels(centred), clipped(kl=0.01), over_tokens),
    "gigpo-search": Oracle(both_levels(divided), clipped(kl=0.001), over_tokens),
}
