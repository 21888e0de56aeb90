"""Answers to posed problems: probes, which measure how hard a new problem is, and answers that train."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from assay.ask import Codec, Sampling, first_free_draw, group_of_requests
from assay.memory import Memory
from assay.memory.posed import STORE, AdmitPosed, admitted, instance_of, pool_of, posed
from assay.part import Count, Expansion
from assay.tasks.pose import PREFIX
from assay.types import Episode, Problem, Request


def solve_posed(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    sampling: Sampling,
    codec: Codec,
    probes: int,
    place: str = STORE,
) -> list[Request]:
    """The requests that follow the posing: probes of each new problem, then answers that train."""
    asked = [episode for episode in episodes if episode.request.problem.task.startswith(PREFIX)]
    if len(asked) < len(episodes):
        return []
    requests: list[Request] = []
    draws = itertools.count(first_free_draw(episodes))

    def ask(problem: Problem, count: int, **about: Any) -> None:
        """Adds the requests of one problem."""
        draw = next(draws)
        requests.extend(group_of_requests(problem, memory, count, draw=draw, sampling=sampling, codec=codec, **about))

    for episode in asked:
        if (problem := posed(episode)) is not None:
            ask(problem, probes, tag="probe", parent=episode.request.id)
    new = [problem for _, problem in admitted(asked, memory, place)]
    for name in dict.fromkeys(episode.request.problem.task.removeprefix(PREFIX) for episode in asked):
        count = sum(episode.request.problem.task == PREFIX + name for episode in asked)
        fresh = [problem for problem in new if problem.task == name][:count]
        entries, key = pool_of(memory, name, place), memory.key("solve", memory.step, name)
        for problem in fresh:
            ask(problem, 1)
        for i in range(count - len(fresh)):
            entry = entries[key(i).bits % len(entries)]
            ask(instance_of(name, entry["spec"], asked[0].request.problem.wording), 1)
    return requests


class SolvePosed(Expansion):
    """After the posing: `probes` answers to each new problem, tagged `probe`, and for each task as many answers as
    problems were posed.

    The answers that train go to the new problems of the step first, then to problems drawn uniformly from the pool
    (AZR 2505.03335).

        expand=(SolvePosed(probes=8),)
        --mechanism.expand solve-posed --mechanism.expand.0.probes 8
    """

    reads = (AdmitPosed,)

    probes: Count = 8
    does = solve_posed
