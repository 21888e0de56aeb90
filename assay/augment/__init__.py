"""What is asked about a problem: contexts, samples, temperatures, given beginnings of an answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from assay.augment.abstract import Abstract, abstract
from assay.augment.partial_solution import PartialSolution, partial_solution
from assay.augment.speculate import Speculate, speculate
from assay.augment.starts import StartStates, start_states
from assay.errors import DataError
from assay.memory import Memory
from assay.part import Part
from assay.tasks import task
from assay.types import Ids, Origin, Problem, Request, Segment


class Codec(Protocol):
    """The tokenizer as the phases see it."""

    @property
    def end_ids(self) -> frozenset[int]: ...
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


def ask(
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


@dataclass(frozen=True)
class Demonstrate(Part):
    """The worked solution is the answer: nothing is generated, everything is imitated."""


def demonstrate(requests: Sequence[Request], memory: Memory, *, codec: Codec) -> list[Request]:
    end = np.array([min(codec.end_ids)], dtype=np.int32)
    result = []
    for request in requests:
        if request.problem.solution is None:
            raise DataError(
                f"problem {request.problem.id} of '{request.problem.task}' has no worked solution to imitate."
            )
        ids = np.concatenate([codec.encode(request.problem.solution), end])
        given = Segment(ids=ids, origin=np.full(len(ids), Origin.INJECTED, dtype=np.int8))
        result.append(dataclasses.replace(request, prefix=(given,), max_new=0))
    return result


AUGMENTS: dict[str, tuple[type[Part], Callable[..., list[Request]]]] = {
    "demonstrate": (Demonstrate, demonstrate),
    "speculate": (Speculate, speculate),
    "abstract": (Abstract, abstract),
    "start-states": (StartStates, start_states),
    "partial-solution": (PartialSolution, partial_solution),
}
