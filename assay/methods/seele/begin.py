from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.ask.hints import written_by_others
from assay.memory import Memory
from assay.methods.seele.rates import STORE, KeepRate
from assay.part import Asking
from assay.tasks.task import steps_of
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec


def begin_at_rate(
    requests: Sequence[Request], memory: Memory, *, codec: Codec, rate: float | None, place: str = STORE
) -> list[Request]:
    known = memory.store(place) if rate is None else {}
    return [begun(r, known.get(r.problem.id, 1.0 if rate is None else rate), codec) for r in requests]


@dataclass(frozen=True)
class BeginAtRate(Asking):
    """Answers begin with the first steps of the worked solution (SEELE 2509.06923): as many as the memory says of the
    problem; of a new one, or always if `rate` is given, that share, and never the last step.

        ask=(BeginAtRate(),)
        --mechanism.ask begin-at-rate
    """

    solutions = "some"
    reads = (KeepRate,)

    rate: float | None = None
    does = begin_at_rate

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        return longest_beginning(problem, codec)


def begun(request: Request, rate: float, codec: Codec) -> Request:
    """The request with round(rate * steps) steps given, each a segment of its own."""
    steps = steps_of(request.problem)
    count = max(0, min(int(rate * len(steps) + 0.5), len(steps) - 1))
    return dataclasses.replace(request, prefix=tuple(written_by_others(codec.encode(step)) for step in steps[:count]))


def longest_beginning(problem: Problem, codec: Codec) -> int:
    """Tokens of all steps but the last. They are given beside the answer limit, not as a part of it."""
    return sum(len(codec.encode(step)) for step in steps_of(problem)[:-1])
