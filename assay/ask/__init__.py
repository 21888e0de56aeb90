"""Requests: how the policy is asked about a problem. Prompts and hints, prefixes of answers, samples, temperatures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.ask.also import AlsoAsk
from assay.ask.as_role import AsRole
from assay.ask.demonstrate import Demonstrate
from assay.ask.expert import Expert
from assay.ask.first_steps import FirstSteps
from assay.ask.hints import Hinted
from assay.ask.limits import Fewer, Shorter
from assay.ask.posed_once import PosedOnce
from assay.ask.rehearse import Rehearse
from assay.ask.temperature import AnnealTemperature
from assay.ask.template import Templated
from assay.ask.trunks import Trunks
from assay.ask.turns import ForgetReplies, LimitCalls
from assay.memory import Memory
from assay.part import Asking, bind
from assay.policy.codec import Codec
from assay.scale import Scale
from assay.tasks import task
from assay.types import Episode, Problem, Request

__all__ = [
    "AlsoAsk",
    "AnnealTemperature",
    "AsRole",
    "Codec",
    "Demonstrate",
    "Expert",
    "Fewer",
    "FirstSteps",
    "ForgetReplies",
    "Hinted",
    "LimitCalls",
    "PosedOnce",
    "Rehearse",
    "Sampling",
    "Shorter",
    "Templated",
    "Trunks",
    "as_examined",
    "first_free_draw",
    "first_requests",
    "group_of_requests",
]


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled, the same for every request of a step.

    Sampling(max_new=1024, temperature=1.0, top_p=0.95)
    --scale.max_new 1024 --scale.temperature 1.0 --scale.top_p 0.95
    """

    max_new: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    stop: tuple[str, ...] = ()
    max_replies: int = 0  # tokens of replies of a world; 0: they count towards `max_new`
    longest_reply: int = 0  # tokens of one reply; 0: no limit

    @classmethod
    def at(cls, scale: Scale, stops: tuple[str, ...], *, temperature: float | None = None) -> Sampling:
        """As a run of this scale samples; at another temperature, with all tokens to choose from."""
        filters = (scale.temperature, scale.top_p, scale.top_k, scale.min_p)
        drawn = filters if temperature is None else (temperature, 1.0, 0, 0.0)
        return cls(scale.max_new, *drawn, stops, scale.max_replies, scale.longest_reply)

    def of(self, problem: Problem) -> dict[str, Any]:
        """The sampling fields of a request for this problem. If the task has a world, the request speaks for its first
        seat, and sampling also stops where the world replies.
        """
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        world = task(problem.task).world
        if world is None:
            return settings
        stops = world.spoken(problem.wording).stops
        return settings | {"stop": (*self.stop, *stops), "seat": world.seats[0].name}


def first_requests(
    problems: Sequence[Problem], memory: Memory, *, first: int, samples: int, sampling: Sampling, codec: Codec
) -> list[Request]:
    """`samples` requests for each problem, which form a group. A problem that is drawn twice has two groups."""
    return [
        request
        for draw, problem in enumerate(problems, start=first)
        for request in group_of_requests(problem, memory, samples, draw=draw, sampling=sampling, codec=codec)
    ]


def group_of_requests(
    problem: Problem, memory: Memory, count: int, *, draw: int, sampling: Sampling, codec: Codec, **about: Any
) -> list[Request]:
    """`count` requests for a problem, the group of this draw of the step. Fields given in `about` take the place of
    those that the sampling sets for the problem.
    """
    context, group = codec.render(problem.prompt), f"{memory.step}:{draw}"
    settings = {**sampling.of(problem), **about}
    return [Request(problem, context, group, draw=draw, sample=i, **settings) for i in range(count)]


def first_free_draw(episodes: Sequence[Episode]) -> int:
    """The first draw of the step of which there is no answer yet."""
    return 1 + max(episode.request.draw for episode in episodes)


def as_examined(parts: Sequence[Asking], codec: Codec) -> Callable[[list[Request]], list[Request]]:
    """The function that changes requests for held-out problems, by those of the parts that are `examined`: a policy
    that is trained with such a part is also measured with it.
    """
    bound = [bind(part, codec=codec) for part in parts if part.examined]

    def asked(requests: list[Request]) -> list[Request]:
        for part in bound:
            requests = part(requests)
        return requests

    return asked
