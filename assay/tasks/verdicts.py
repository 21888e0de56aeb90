"""Answer -> Verdict. An exception of ours is retried once and then `invalid`; it is never a reward."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import AssayError
from assay.tasks import task
from assay.tasks.task import Judge
from assay.types import Episode, Problem, Verdict
from assay.verifiers.functions.calling import told


def verify(episodes: Sequence[Episode]) -> list[Verdict]:
    """A verdict for each episode, by the checker of its task. Checkers of built-in tasks are total and bounded."""
    found: dict[int, Verdict] = {}
    for name in dict.fromkeys(episode.request.problem.task for episode in episodes):
        mine = [i for i, episode in enumerate(episodes) if episode.request.problem.task == name]
        together = task(name).judge
        finished = [i for i in mine if episodes[i].finish == "stop"] if together else []
        pairs = [(episodes[i].request.problem, episodes[i].text) for i in finished]
        found |= zip(finished, _judged(together, pairs), strict=True) if together and pairs else ()
        for i in [i for i in mine if i not in found]:
            found[i] = verdict_of(episodes[i].request.problem, episodes[i].text, finished=episodes[i].finish == "stop")
    return [found[i] for i in range(len(episodes))]


def _judged(judge: Judge, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """All at once; what is configured wrongly stops the run, any other failure is ours and leaves no verdict."""
    failure = ""
    for _ in range(2):
        try:
            return judge(pairs)
        except AssayError:
            raise
        except (Exception, SystemExit) as error:  # kept, counted and shown
            failure = told(error)
    return [Verdict.invalid("bug", failure)] * len(pairs)


def verdict_of(problem: Problem, text: str, *, finished: bool = True) -> Verdict:
    """An answer that a limit cut off is not an answer, whatever its beginning says."""
    if not finished:
        return Verdict.fail("truncated")
    checker = task(problem.task)
    failure = ""
    for _ in range(2):
        try:
            return checker.verify(problem, text)
        except (Exception, SystemExit) as error:  # a checker can fail in any way; it is kept, counted and shown
            failure = told(error)
    return Verdict.invalid("bug", f"{checker.name}: {failure}")
