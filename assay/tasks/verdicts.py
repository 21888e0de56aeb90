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
    """A verdict for each episode, by the checker of its task. Checkers of built-in tasks are total and bounded. Equal
    answers to one problem are judged once.
    """
    verdicts: dict[int, Verdict] = {}
    for name in dict.fromkeys(episode.request.problem.task for episode in episodes):
        rows = [i for i, episode in enumerate(episodes) if episode.request.problem.task == name]
        judge = task(name).judge
        finished = [i for i in rows if episodes[i].finish == "stop"] if judge else []
        pairs = [_pair(episodes[i]) for i in finished]
        verdicts |= zip(finished, _judged(judge, pairs), strict=True) if judge and pairs else ()
        known: dict[tuple[int, str, bool], Verdict] = {}
        for i in [i for i in rows if i not in verdicts]:
            (problem, text), stopped = _pair(episodes[i]), episodes[i].finish == "stop"
            if (answer := (id(problem), text, stopped)) not in known:
                known[answer] = verdict_of(problem, text, finished=stopped)
            verdicts[i] = known[answer]
    return [verdicts[i] for i in range(len(episodes))]


def second_verdicts(episodes: Sequence[Episode]) -> list[Verdict | None]:
    """What the second oracle of its task says of each episode; None for a task that has none.

    The second oracle is another program than the verifier, or the same one on fresh data: what deceives one of them
    rarely deceives both.
    """
    found: list[Verdict | None] = [None] * len(episodes)
    for name in dict.fromkeys(episode.request.problem.task for episode in episodes):
        if (judge := task(name).second) is not None:
            rows = [i for i, episode in enumerate(episodes) if episode.request.problem.task == name]
            for i, verdict in zip(rows, _judged(judge, [_pair(episodes[i]) for i in rows]), strict=True):
                found[i] = verdict
    return found


def verify_twice(episodes: Sequence[Episode]) -> list[Verdict]:
    """As `verify`, but an answer that is found right must also pass the second oracle of its task, if it has one."""
    verdicts = verify(episodes)
    right = [i for i, verdict in enumerate(verdicts) if verdict.status == "ok"]
    for i, second in zip(right, second_verdicts([episodes[i] for i in right]), strict=True):
        if second is not None and second.status != "ok":
            verdicts[i] = second
    return verdicts


def _pair(episode: Episode) -> tuple[Problem, str]:
    return episode.request.problem, episode.text


def _judged(judge: Judge, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Judges all pairs at once, and equal answers to one problem once: most of a foreign program's time goes to answers
    that a policy writes again and again. An error of configuration stops the run; any other exception makes all of them
    invalid.
    """
    different = {(id(problem), text): (problem, text) for problem, text in pairs}
    found = dict(zip(different, _tried(judge, list(different.values())), strict=True))
    return [found[id(problem), text] for problem, text in pairs]


def _tried(judge: Judge, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
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
