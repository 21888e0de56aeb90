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
