"""New problems of the concepts in which weak problems abound, and the source that adds them to the old ones."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.methods.exploration.sws.weakness import STORE, KeepCurves, allotted, weak
from assay.part import Count, Source, scales_with
from assay.rng import Key
from assay.source.epochs import in_epochs, set_of
from assay.source.rows import finite_shares
from assay.tasks import task
from assay.tasks.abilities import concepts_of
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool

_TRIES = 2000  # instances that are drawn until one has the concept


def plan(memory: Memory, problems: Sequence[Problem], *, below: float, count: int, place: str) -> list[Problem]:
    """For each of `count` new problems a weak one that it is made after; [] if none is weak.

    A category is a task. Each category gets a number of new problems in proportion to the share of its problems that
    are weak, and its weak problems take turns.
    """
    curves = memory.store(place)
    tried: dict[str, list[Problem]] = {}
    for problem in problems:
        if problem.id in curves:
            tried.setdefault(problem.task, []).append(problem)
    found = {name: [p for p in some if weak(curves[p.id], below=below)] for name, some in tried.items()}
    numbers = allotted({name: (len(found[name]), len(some)) for name, some in tried.items()}, count)
    return [p for name, number in numbers.items() for p in itertools.islice(itertools.cycle(found[name]), number)]


def made_after(model: Problem, pool: Pool, key: Key) -> Problem:
    """A new training problem of the same task with one of the concepts of `model`, at a level of the pool.

    The concept is one of the model's, each as likely, so that over all weak problems it is drawn as often as it occurs
    among them. If it is so rare that none of 2000 instances has it, the model itself is trained on again.
    """
    own_task = task(model.task)
    concepts = concepts_of(own_task, model)
    wanted = concepts[key("concept").bits % len(concepts)]
    levels = [level for share in pool.shares if share.task == model.task for level in share.levels]
    for attempt in range(_TRIES):
        drawn = key("instance", attempt)
        level = levels[drawn("level").bits % len(levels)]
        problem = own_task.problem(drawn, level=level, wording=model.wording)
        if wanted in concepts_of(own_task, problem):
            return dataclasses.replace(problem, parents=(model.id,), provenance="synthesised")
    return model


def with_synthesised(
    memory: Memory,
    first: int,
    count: int,
    *,
    pool: Pool,
    drawn: int,
    size: int,
    added: int,
    below: float,
    by_weakness: bool,
    place: str = STORE,
) -> list[Problem]:
    """The problems of the set and the new ones, together in epochs. A new problem is made when it is drawn: it depends
    on its place in the plan alone.
    """
    problems = set_of(pool, memory.seed, size)
    if by_weakness:
        models = plan(memory, problems, below=below, count=added, place=place)
    else:
        models = list(itertools.islice(itertools.cycle(problems), added))
    key, begin = Key(memory.seed)("with-synthesised", memory.stage), memory.step * drawn + first
    places = in_epochs(range(len(problems) + len(models)), key, begin, count)
    made = Key(memory.seed)("synthesised")
    return [
        problems[at] if (new := at - len(problems)) < 0 else made_after(models[new], pool, made(new)) for at in places
    ]


class WithSynthesised(Source):
    """Draws the problems of a fixed set, and new ones of the concepts that its weak problems have (SwS 2506.08989).

    A problem is weak if the policy was right in less than a share `below` of its answers at every visit, and ever less
    often. The task makes the new problems, so that their verdicts are exact. Rows of files cannot be made.
    """

    reads = (KeepCurves,)

    size: Count = scales_with("num_prompts", 12288, at=1024)  # problems of the set from which `epochs` draws
    added: int = scales_with("num_prompts", 40960, at=1024)  # new problems
    below: float = 0.5  # the accuracy that a weak problem never reached
    by_weakness: bool = True  # new problems after the weak ones; else after all problems alike, for comparison
    does = with_synthesised
    needs = ("texts",)

    def unfit(self, pool: Pool) -> str | None:
        if not finite_shares(pool):
            return None
        return "it makes new problems of the tasks' concepts, and rows of files cannot be made: give generated tasks"
