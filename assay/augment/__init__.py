"""What is asked about a problem: contexts, samples, temperatures, given beginnings of an answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assay.augment.abstract import (
    Abstract,
    Distilled,
    TeachAbstractions,
    WriteThenSolve,
    abstract,
    distilled,
    teach_abstractions,
    write_then_solve,
)
from assay.augment.budget import Budget, budget
from assay.augment.condition import Conditioned, conditioned
from assay.augment.demonstrate import Demonstrate, demonstrate
from assay.augment.expert import Expert, ExpertPrefix, expert, expert_prefix
from assay.augment.greedy import Greedy, greedy
from assay.augment.hints import Hinted, hinted
from assay.augment.partial_solution import CutAnywhere, PartialSolution, cut_anywhere, partial_solution
from assay.augment.probe import Probe, Replay, probe, replay
from assay.augment.rates import BeginAtRate, begin_at_rate
from assay.augment.rehearse import Rehearse, rehearse
from assay.augment.speculate import Speculate, speculate
from assay.augment.starts import StartStates, start_states
from assay.augment.steps import Recall, Steps, recall, steps
from assay.augment.temperature import OwnTemperature, own_temperature
from assay.augment.trunks import Trunks, trunks
from assay.memory import Memory
from assay.part import Part, bind
from assay.tasks import task
from assay.types import Ids, Problem, Request


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
class AsRole(Part):
    """Whoever plays this role is asked."""

    role: str = "proposer"


def as_role(requests: Sequence[Request], *, role: str) -> list[Request]:
    return [dataclasses.replace(request, role=role) for request in requests]


AUGMENTS: dict[str, tuple[type[Part], Callable[..., list[Request]]]] = {
    "demonstrate": (Demonstrate, demonstrate),
    "expert": (Expert, expert),
    "expert-prefix": (ExpertPrefix, expert_prefix),
    "rehearse": (Rehearse, rehearse),
    "as-role": (AsRole, as_role),
    "trunks": (Trunks, trunks),
    "steps": (Steps, steps),
    "recall": (Recall, recall),
    "greedy": (Greedy, greedy),
    "cut-anywhere": (CutAnywhere, cut_anywhere),
    "hinted": (Hinted, hinted),
    "begin-at-rate": (BeginAtRate, begin_at_rate),
    "own-temperature": (OwnTemperature, own_temperature),
    "probe": (Probe, probe),
    "replay": (Replay, replay),
    "speculate": (Speculate, speculate),
    "budget": (Budget, budget),
    "abstract": (Abstract, abstract),
    "distilled": (Distilled, distilled),
    "write-then-solve": (WriteThenSolve, write_then_solve),
    "teach-abstractions": (TeachAbstractions, teach_abstractions),
    "start-states": (StartStates, start_states),
    "partial-solution": (PartialSolution, partial_solution),
    "conditioned": (Conditioned, conditioned),
}


def as_examined(parts: Sequence[Part], codec: Codec) -> Callable[[list[Request]], list[Request]]:
    """What those of these parts do to a request that a policy is to be asked with wherever it is measured."""
    bound = [bind(AUGMENTS, part, codec=codec) for part in parts if part.examined]

    def asked(requests: list[Request]) -> list[Request]:
        for part in bound:
            requests = part(requests)
        return requests

    return asked
