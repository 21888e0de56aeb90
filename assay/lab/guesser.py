"""A blind guesser: the score of answers that are drawn without a look at the problem.

It draws from the answers of the task's training split by their frequency, given the level and the wording, k times with
replacement; where a task is a file, from the answers of its training rows. A model that is no better at k samples has
shown nothing by them. Rare answers are not tried, and count as wrong: the guesser is at least as good as it is said to
be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import is_data, task
from assay.tasks.task import Solution, Task, compact_text, natural_text
from assay.types import Problem

DRAWS = 1000  # problems of the training split, of each level, whose answers the guesser knows
TRIED = 128  # answers that are tried, the most frequent first
OFTEN = 0.01  # for a task that a foreign program verifies: the least share of an answer that is tried
ASKED = 64  # and the most problems of the exam on which it is tried


@dataclass(frozen=True)
class Guesser:
    """The chance that one guess is right, of each problem; and the share of guesses whose answers were tried.

    blind(pool, exam).passes([1, 64])
    """

    chances: tuple[float, ...]
    tried: float

    def passes(self, ks: Iterable[int]) -> dict[int, float]:
        """The mean of 1 - (1 - p)^k for each k."""
        chances = np.array(self.chances)
        return {k: float((1 - (1 - chances) ** k).mean()) for k in ks}


def blind(pool: Pool, exam: Sequence[Problem]) -> Guesser:
    """The chances of a blind guesser on the problems of an exam; none where it knows no answers to draw from."""
    chances, tried = [], []
    for share in pool.shares:
        known = task(share.task)
        for level in dict.fromkeys(one.level for one in exam if one.task == share.task):
            asked = [one for one in exam if (one.task, one.level) == (share.task, level)]
            asked = asked[:ASKED] if known.checker.externals else asked
            if not (found := frequencies(known, share, level, pool)):
                return Guesser((), 0.0)
            guesses = [(answer, n) for answer, n in found.most_common(TRIED) if n >= _least(known, found)]
            chances += _chances(known, asked, dict(guesses), found.total())
            tried += [sum(n for _, n in guesses) / found.total()] * len(asked)
    return Guesser(tuple(chances), float(np.mean(tried)) if tried else 0.0)


def _least(known: Task, found: Counter[str]) -> int:
    """The least count of an answer that is tried: if answers are many, a single one is a matter of chance."""
    return max(2, round(OFTEN * found.total())) if known.checker.externals else 2 if len(found) > TRIED else 1


def frequencies(known: Task, share: Share, level: int, pool: Pool) -> Counter[str]:
    """The answers of training problems of a level, as worked solutions have them."""
    if known.generator.rows is not None:
        answers = (_answer(known, row) for row in pool.rows_of(share, "train"))
        return Counter(answer for answer in answers if answer is not None)
    key = Key("blind guesser")
    drawn = (known.problem(key(i), level=level, split="train", wording=pool.wording) for i in range(DRAWS))
    return Counter(known.wordings.solve(problem.spec).answer for problem in drawn)


def _answer(known: Task, row: Problem) -> str | None:
    """The answer of a row of a file; None where nobody knows it, or where it is no text that could be written."""
    if not is_data(known.name):
        return known.wordings.solve(row.spec).answer
    gold = row.spec.get("gold")
    return gold if isinstance(gold, str) else None


def _chances(known: Task, exam: Sequence[Problem], guesses: dict[str, int], total: int) -> list[float]:
    """The chance of a right guess on each problem: the frequencies of all answers that its verifier accepts."""
    pairs = [(problem, _response(answer, problem)) for problem in exam for answer in guesses]
    verdicts = (
        known.checker.verify_many(pairs) if known.checker.verify_many else [known.verify(*pair) for pair in pairs]
    )
    right = np.array([verdict.status == "ok" for verdict in verdicts]).reshape(len(exam), len(guesses))
    return (right @ np.array([*guesses.values()], dtype=np.float64) / total).tolist()


def _response(answer: str, problem: Problem) -> str:
    return (compact_text if problem.wording == "compact" else natural_text)(Solution(answer))
