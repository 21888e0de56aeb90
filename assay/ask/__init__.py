"""What is asked about a problem: contexts, samples, temperatures, given beginnings of an answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assay.ask.demonstrate import Demonstrate
from assay.ask.expert import Expert
from assay.ask.hints import Hinted
from assay.ask.rehearse import Rehearse
from assay.ask.trunks import Trunks
from assay.memory import Memory
from assay.part import Asking, bind
from assay.tasks import task
from assay.types import Ids, Problem, Request

__all__ = [
    "Codec",
    "Demonstrate",
    "Expert",
    "Hinted",
    "Rehearse",
    "Sampling",
    "Trunks",
    "as_examined",
    "first_requests",
]


class Codec(Protocol):
    """The tokenizer as the phases see it."""

    @property
    def end_ids(self) -> frozenset[int]: ...
    @property
    def vocab(self) -> int: ...
    def render(self, prompt: Any) -> Ids: ...
    def encode(self, text: str) -> Ids: ...
    def decode(self, ids: Sequence[int]) -> str: ...


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled, for every request of a step."""

    max_new: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    stop: tuple[str, ...] = ()

    def of(self, problem: Problem) -> dict[str, Any]:
        """The fields of a request for this problem: it also stops where its task's environment is to reply."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        environment = task(problem.task).environment
        return settings if environment is None else settings | {"stop": (*self.stop, *environment.stop)}


def first_requests(
    problems: Sequence[Problem], memory: Memory, *, first: int, samples: int, sampling: Sampling, codec: Codec
) -> list[Request]:
    """`samples` requests for each problem; each draw of a problem is a group of its own."""
    requests = []
    for ordinal, problem in enumerate(problems, start=first):
        context, group = codec.render(problem.prompt), f"{memory.step}:{ordinal}"
        settings = sampling.of(problem)
        requests += [
            Request(problem, context, group, draw=ordinal, sample=sample, **settings) for sample in range(samples)
        ]
    return requests


def as_examined(parts: Sequence[Asking], codec: Codec) -> Callable[[list[Request]], list[Request]]:
    """What those of these parts do to a request that a policy is to be asked with wherever it is measured."""
    bound = [bind(part, codec=codec) for part in parts if part.examined]

    def asked(requests: list[Request]) -> list[Request]:
        for part in bound:
            requests = part(requests)
        return requests

    return asked
