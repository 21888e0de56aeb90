"""Verdicts on episodes. An exception in a checker is retried once, and then
gives an `invalid` verdict, never a reward.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import AssayError
from assay.tasks import task
from assay.tasks.task import Judge
from assay.types import Episode, Problem, Verdict
from assay.verifiers.functions.calling import told


def verify(episodes: Sequence[Episode]) -> list[Verdict]:
    """A verdict for each episode, by the checker of its task. Checkers of built-in tasks are total and bounded."""
    verdicts: dict[int, Verdict] = {}
    for name in dict.fromkeys(episode.request.problem.task for episode in episodes):
        rows = [i for i, episode in enumerate(episodes) if episode.request.problem.task == name]
        judge = task(name).judge
        finished = [i for i in rows if episodes[i].finish == "stop"] if judge else []
        pairs = [(episodes[i].request.problem, episodes[i].text) for i in finished]
        verdicts |= zip(finished, _judged(judge, pairs), strict=True) if judge and pairs else ()
        for i in [i for i in rows if i not in verdicts]:
            stopped = episodes[i].finish == "stop"
            verdicts[i] = verdict_of(episodes[i].request.problem, episodes[i].text, finished=stopped)
    return [verdicts[i] for i in range(len(episodes))]


def _judged(judge: Judge, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Judges all pairs at once. An error of configuration stops the run; any other exception makes them all invalid."""
    failure = ""
    for _ in range(2):
        try:
            return judge(pairs)
        except AssayError:
            raise
        except (Exception, SystemExit) as error:  # its text goes into the verdicts, which are counted and shown
            failure = told(error)
    return [Verdict.invalid("bug", failure)] * len(pairs)


def verdict_of(problem: Problem, text: str, *, finished: bool = True) -> Verdict:
    """The verdict on one response. A response that the length limit cut off fails, whatever it says."""
    if not finished:
        return Verdict.fail("truncated")
    checker = task(problem.task)
    failure = ""
    for _ in range(2):
        try:
            return checker.verify(problem, text)
        except (Exception, SystemExit) as error:  # its text goes into the verdict, which is counted and shown
            failure = told(error)
    return Verdict.invalid("bug", f"{checker.name}: {failure}")
