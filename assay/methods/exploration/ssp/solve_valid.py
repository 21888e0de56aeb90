"""Posed problems are checked by whoever has the pages in view; those that stand are answered without them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask import Codec, Sampling, first_free_draw, group_of_requests
from assay.memory import Memory
from assay.memory.posed import instance_of, posed
from assay.methods.exploration.ssp.keep_valid import VALID, KeepValid
from assay.part import Count, Expansion
from assay.prompt import Prompt
from assay.rng import Key
from assay.tasks import task
from assay.tasks.given import GIVEN, with_pages
from assay.tasks.pose import PREFIX
from assay.types import Episode, Problem, Request

if TYPE_CHECKING:
    from assay.recipe import Mechanism
    from assay.scale import Scale

CHECK = "check"
"""The tag of the answers that check a problem."""


def of_training(episode: Episode) -> Problem | None:
    """The problem that an episode poses, if it is of the training split: others are asked in exams."""
    problem = posed(episode)
    return problem if problem is not None and task(problem.task).split_of(problem.spec) == "train" else None


def stands(episode: Episode, everyone: Sequence[Episode], checks: int) -> bool | None:
    """Whether all who checked the posed problem came to the answer that it claims; None if a verdict is missing."""
    said = [e.verdict for e in everyone if e.request.tag == CHECK and e.request.parent == episode.request.id]
    if any(verdict is not None and verdict.status == "fail" for verdict in said):
        return False
    return True if sum(verdict is not None and verdict.status == "ok" for verdict in said) == checks else None


def solve_valid(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    sampling: Sampling,
    codec: Codec,
    checks: int,
    answers: int,
) -> list[Request]:
    """The checks of all posed problems; then `answers` to each that stands, and to older ones in place of others."""
    asked = [e for e in episodes if e.request.problem.task.startswith(PREFIX)]
    checked = any(e.request.tag == CHECK for e in episodes)
    if sum(e.request.tag != CHECK for e in episodes) > len(asked):
        return []
    proposed = [(e, problem) for e in asked if (problem := of_training(e)) is not None]
    draws, requests = itertools.count(first_free_draw(episodes)), list[Request]()

    def ask(problem: Problem, count: int, **about: Any) -> None:
        draw = next(draws)
        requests.extend(group_of_requests(problem, memory, count, draw=draw, sampling=sampling, codec=codec, **about))

    if checks and proposed and not checked:
        for number, (episode, problem) in enumerate(proposed):
            given = with_view(problem, memory.key("pages", memory.step, number))
            ask(given, checks, parent=episode.request.id, tag=CHECK)
        return requests
    valid = [(e, problem) for e, problem in proposed if stands(e, episodes, checks)]
    for episode, problem in valid:
        ask(problem, answers, parent=episode.request.id)
    older, key = memory.store(VALID), memory.key("older", memory.step)
    for number, episode in enumerate(e for e in asked if all(e is not other for other, _ in valid)):
        name = episode.request.problem.task.removeprefix(PREFIX)
        if entries := older.get(name):
            spec = entries[key(number).bits % len(entries)]["spec"]
            ask(instance_of(name, spec, episode.request.problem.wording), answers)
    return requests


def with_view(problem: Problem, key: Key) -> Problem:
    """The problem behind its pages, among others by chance."""
    spec = with_pages(task(problem.task), problem.spec, key.generator())
    return task(GIVEN + problem.task).pose(spec, level=problem.level, wording=problem.wording)


class SolveValid(Expansion):
    """Each posed problem is answered `checks` times with the pages in view from which it was posed and some others. If
    every reader comes to the answer that it claims, the policy answers it `answers` times by its own search, which
    trains. Where a problem does not stand, one that did in earlier steps takes its place (SSP 2510.18821).

    Without checks, `checks=0`, every text that is a problem stands.

        expand=(SolveValid(checks=1, answers=5),)
        --mechanism.expand solve-valid --mechanism.expand.0.answers 5
    """

    reads = (KeepValid,)
    sizes_groups = True

    checks: int = 1  # readers of a problem, all of whom must come to its answer
    answers: Count = 5  # that train, of each problem
    does = solve_valid

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        if problem.task.startswith(PREFIX):
            return (prompt,)
        return (prompt, Prompt.of(with_view(problem, Key(0)("pages"))))

    def refusal(self, *, scale: Scale, mechanism: Mechanism) -> str | None:
        if self.checks < 0:
            return f"solve-valid: checks is 0 or more, not {self.checks}."
        if mechanism.credit.compares and self.answers < 2:
            return "solve-valid: the answers to a problem are compared, so that `answers` is 2 or more."
        return None
