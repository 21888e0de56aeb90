"""Answers to problems that episodes of the same step posed."""

from __future__ import annotations

from collections.abc import Sequence

from assay.ask import Codec, Sampling
from assay.memory import Memory
from assay.tasks.pose import PREFIX
from assay.types import Episode, Problem, Request


def answered(episodes: Sequence[Episode]) -> bool:
    """Whether answers to posed problems were asked for already."""
    return any(not episode.request.problem.task.startswith(PREFIX) for episode in episodes)


def answers_to(
    found: Sequence[tuple[Episode, Problem]],
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    sampling: Sampling,
    codec: Codec,
    answers: int,
) -> list[Request]:
    """`answers` requests for each problem, which form a group; the episode that poses it is their parent."""
    first = 1 + max(episode.request.draw for episode in episodes)
    requests = []
    for draw, (episode, problem) in enumerate(found, start=first):
        about = {"group": f"{memory.step}:{draw}", "draw": draw, "parent": episode.request.id}
        context, settings = codec.render(problem.prompt), sampling.of(problem)
        requests += [Request(problem, context, sample=i, **about, **settings) for i in range(answers)]
    return requests
