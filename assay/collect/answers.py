"""Answers to problems that episodes of the same step posed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.ask import Codec, Sampling, first_free_draw, group_of_requests
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
    requests = []
    for draw, (episode, problem) in enumerate(found, start=first_free_draw(episodes)):
        about: dict[str, Any] = {"sampling": sampling, "codec": codec, "parent": episode.request.id}
        requests += group_of_requests(problem, memory, answers, draw=draw, **about)
    return requests
