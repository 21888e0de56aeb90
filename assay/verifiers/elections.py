"""The vote of a group of answers: which answer most of them give, and how much they agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from assay.types import Episode
from assay.verifiers.answers import find_answer


def answer_of(episode: Episode) -> str | None:
    """The final answer of an episode, with single spaces; None if there is none or it was cut."""
    if episode.finish != "stop":
        return None
    found = find_answer(episode.text, episode.request.problem.wording)
    return " ".join(found.split()) or None if found else None


def majority(answers: Sequence[str | None]) -> str | None:
    """The answer that most of a group give, the earliest of equals; None if nobody gives one."""
    counts = Counter(answer for answer in answers if answer is not None)
    return counts.most_common(1)[0][0] if counts else None


def shares(answers: Sequence[str | None]) -> list[float]:
    """For each answer of a group, which share of the group gives it. No answer equals no answer but itself."""
    counts = Counter(answer for answer in answers if answer is not None)
    return [(1 if answer is None else counts[answer]) / len(answers) for answer in answers]


def top_share(answers: Sequence[str | None]) -> float:
    """The share of a group that gives its most frequent answer; 0 if nobody gives one."""
    given = [share for answer, share in zip(answers, shares(answers), strict=True) if answer is not None]
    return max(given, default=0.0)


def spread_of(answers: Sequence[str | None]) -> float:
    """The semantic entropy of a group, - sum_c p_c log p_c over its different answers, in nats."""
    return -math.fsum(math.log(share) for share in shares(answers)) / len(answers) if answers else 0.0


def weighted(answers: Sequence[str | None], weights: Sequence[float]) -> str | None:
    """The answer with the largest sum of weights, the earliest of equals; None if nobody gives one."""
    sums: dict[str, float] = {}
    for answer, weight in zip(answers, weights, strict=True):
        if answer is not None:
            sums[answer] = sums.get(answer, 0.0) + weight
    return max(sums, key=lambda answer: sums[answer]) if sums else None


def best(answers: Sequence[str | None], weights: Sequence[float]) -> str | None:
    """The answer of the largest weight, the earliest of equals; None if nobody gives one."""
    given = [(weight, answer) for answer, weight in zip(answers, weights, strict=True) if answer is not None]
    return max(given, key=lambda pair: pair[0])[1] if given else None


def pessimistic(answers: Sequence[str | None], verdicts: Sequence[Sequence[float]], *, alpha: float) -> str | None:
    """arg max_a of v_a - alpha ln(V) / (V_a + 1), the earliest of equals; None if nobody gives an answer.

    `verdicts` has the verdicts on each answer, 0 to 1; v_a is the mean of the V_a verdicts on all answers equal to a,
    and V the number of all verdicts (Heimdall 2504.10337). alpha = 0 takes the best mean; a large alpha the majority.
    """
    by_answer: dict[str, list[float]] = {}
    for answer, some in zip(answers, verdicts, strict=True):
        if answer is not None:
            by_answer.setdefault(answer, []).extend(some)
    total = max(1, sum(map(len, verdicts)))

    def worth(answer: str) -> float:
        mine = by_answer[answer]
        return (math.fsum(mine) / len(mine) if mine else 0.0) - alpha * math.log(total) / (len(mine) + 1)

    return max(by_answer, key=worth) if by_answer else None
