"""Answers that begin with the first steps of the worked solution."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.ask.hints import written_by_others
from assay.memory import Memory
from assay.methods.exploration.seele.rates import STORE, KeepRate
from assay.part import Asking, Proportion
from assay.prompt import Prompt
from assay.tasks.task import steps_of
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec


def begin_at_rate(
    requests: Sequence[Request], memory: Memory, *, codec: Codec, rate: float | None, place: str = STORE
) -> list[Request]:
    """The requests with a given beginning each."""
    known = memory.store(place) if rate is None else {}
    return [begun(r, known.get(r.problem.id, 1.0 if rate is None else rate), codec) for r in requests]


class BeginAtRate(Asking):
    """Answers begin with the first steps of the worked solution (SEELE 2509.06923).

    With `rate`, every problem gets this share of its steps. Without it, a problem gets the share that `keep-rate` has
    stored for it, and a new problem gets all steps but the last, which is never given.

        ask=(BeginAtRate(),)
        --mechanism.ask begin-at-rate
    """

    solutions = "some"
    reads = (KeepRate,)

    rate: Proportion | None = None
    does = begin_at_rate

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (with_beginning(prompt, problem, codec),)


def begun(request: Request, rate: float, codec: Codec) -> Request:
    """The request with the first round(rate * steps) steps given, each as a segment of its own."""
    steps = steps_of(request.problem)
    count = max(0, min(int(rate * len(steps) + 0.5), len(steps) - 1))
    return dataclasses.replace(request, prefix=tuple(written_by_others(codec.encode(step)) for step in steps[:count]))


def with_beginning(prompt: Prompt, problem: Problem, codec: Codec) -> Prompt:
    """The prompt with room for all steps but the last; given steps do not count towards the answer limit. An answer has
    one beginning, whichever part gives it.
    """
    tokens = sum(len(codec.encode(step)) for step in steps_of(problem)[:-1])
    return dataclasses.replace(prompt, room=max(prompt.room, tokens))
