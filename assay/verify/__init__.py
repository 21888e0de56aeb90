"""Answer -> Verdict. An exception of ours is retried once and then `invalid`; it is never a reward."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks import task
from assay.types import Episode, Problem, Verdict


def verify(episodes: Sequence[Episode]) -> list[Verdict]:
    """A verdict for each episode, by the checker of its task. Checkers of built-in tasks are total and bounded."""
    return [verdict_of(e.request.problem, e.text, finished=e.finish == "stop") for e in episodes]


def verdict_of(problem: Problem, text: str, *, finished: bool = True) -> Verdict:
    """An answer that a limit cut off is not an answer, whatever its beginning says."""
    if not finished:
        return Verdict.fail("truncated")
    checker = task(problem.task)
    failure: Exception | None = None
    for _ in range(2):
        try:
            return checker.verify(problem, text)
        except Exception as error:  # a checker can fail in any way; the failure is kept, counted and shown
            failure = error
    return Verdict.invalid("bug", f"{checker.name}: {type(failure).__name__}: {failure}")
