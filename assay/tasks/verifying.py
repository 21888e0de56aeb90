"""Verdicts on episodes. A verdict depends on the problem and the answer alone, and not on what is verified beside it.

An exception in a checker is retried once, and then gives an `invalid` verdict to the answer that raised it, never a
reward.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import MutableMapping, Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.tasks import task
from assay.tasks.task import VerifyMany
from assay.types import Episode, Problem, Verdict
from assay.verifiers.functions.calling import told


def verify(
    episodes: Sequence[Episode], *, spent: MutableMapping[str, float] | None = None, read_cut: bool = False
) -> list[Verdict]:
    """A verdict for each episode, by the checker of its task. Checkers of built-in tasks are total and bounded. Equal
    answers to one problem are verified once. An answer that the length limit cut off fails, unless with `read_cut`. One
    on which its world has decided keeps that verdict.

    To `spent` are added the seconds that the answers to each task took.
    """
    read = ("stop", "length") if read_cut else ("stop",)
    verdicts = {
        i: e.verdict
        for i, e in enumerate(episodes)
        if e.verdict and e.verdict.status != "invalid" and task(e.request.problem.task).world
    }
    for name in dict.fromkeys(episode.request.problem.task for i, episode in enumerate(episodes) if i not in verdicts):
        began = time.monotonic()
        rows = [i for i, e in enumerate(episodes) if e.request.problem.task == name and i not in verdicts]
        many = task(name).checker.verify_many
        finished = [i for i in rows if episodes[i].finish in read] if many else []
        pairs = [_pair(episodes[i]) for i in finished]
        verdicts |= zip(finished, _at_once(many, pairs), strict=True) if many and pairs else ()
        by_answer: dict[tuple[int, str, bool], Verdict] = {}
        for i in [i for i in rows if i not in verdicts]:
            (problem, text), stopped = _pair(episodes[i]), episodes[i].finish in read
            if (answer := (id(problem), text, stopped)) not in by_answer:
                by_answer[answer] = verdict_of(problem, text, finished=stopped)
            verdicts[i] = by_answer[answer]
        if spent is not None:
            spent[name] = spent.get(name, 0.0) + time.monotonic() - began
    return [verdicts[i] for i in range(len(episodes))]


def second_verdicts(episodes: Sequence[Episode]) -> list[Verdict | None]:
    """The verdict of its task's second oracle on each episode; None for a task that has none.

    The second oracle is another program than the verifier, or the same one on fresh data: an answer that deceives
    one of them rarely deceives both.
    """
    found: list[Verdict | None] = [None] * len(episodes)
    for name in dict.fromkeys(episode.request.problem.task for episode in episodes):
        if (many := task(name).checker.second) is not None:
            rows = [i for i, episode in enumerate(episodes) if episode.request.problem.task == name]
            for i, verdict in zip(rows, _at_once(many, [_pair(episodes[i]) for i in rows]), strict=True):
                found[i] = verdict
    return found


def verify_twice(
    episodes: Sequence[Episode], *, spent: MutableMapping[str, float] | None = None, read_cut: bool = False
) -> list[Verdict]:
    """As `verify`, but an answer that is found right must also pass the second oracle of its task, if it has one."""
    verdicts = verify(episodes, spent=spent, read_cut=read_cut)
    right = [i for i, verdict in enumerate(verdicts) if verdict.status == "ok"]
    for i, second in zip(right, second_verdicts([episodes[i] for i in right]), strict=True):
        if second is not None and second.status != "ok":
            verdicts[i] = second
    return verdicts


def _pair(episode: Episode) -> tuple[Problem, str]:
    return episode.request.problem, episode.text


def _at_once(many: VerifyMany, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verifies all pairs at once, and equal answers to one problem once: most of a foreign program's time goes to
    answers that a policy writes again and again.
    """
    different = {(id(problem), text): (problem, text) for problem, text in pairs}
    found = dict(zip(different, _isolated(many, list(different.values())), strict=True))
    return [found[id(problem), text] for problem, text in pairs]


def _isolated(many: VerifyMany, pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The verdicts of a verifier of many answers. An exception is searched for by halves, until those answers are found
    that raise it by themselves: they alone are invalid. An error of configuration stops the run.
    """
    try:
        return _counted(many(pairs), pairs)
    except AssayError:
        raise
    except (Exception, SystemExit) as error:
        if len(pairs) == 1:
            return [_tried_again(many, pairs[0], error)]
    middle = len(pairs) // 2
    return _isolated(many, pairs[:middle]) + _isolated(many, pairs[middle:])


def _counted(verdicts: list[Verdict], pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    if len(verdicts) != len(pairs):
        raise ValueError(f"a verifier gave {len(verdicts)} verdicts on {len(pairs)} answers")
    return verdicts


def _tried_again(many: VerifyMany, pair: tuple[Problem, str], error: BaseException) -> Verdict:
    try:
        return _counted(many([pair]), [pair])[0]
    except AssayError:
        raise
    except (Exception, SystemExit):  # the text of the first goes into the verdict, which is counted and shown
        return _bug(pair[0].task, error)


def verdict_of(problem: Problem, text: str, *, finished: bool = True) -> Verdict:
    """The verdict on one response. A response that the length limit cut off fails, whatever it says."""
    if not finished:
        return Verdict.fail("truncated")
    asked = task(problem.task)
    try:
        return asked.verify(problem, text)
    except (Exception, SystemExit) as error:
        try:
            return asked.verify(problem, text)
        except (Exception, SystemExit):  # the text of the first goes into the verdict, which is counted and shown
            return _bug(asked.name, error)


def _bug(name: str, error: BaseException) -> Verdict:
    """The verdict on an answer if our own code raises: it says what was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return Verdict.invalid("bug", f"{name}: {told(error)}{where}")
