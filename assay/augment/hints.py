"""Help from a worked solution: a hint made of its first steps, and a prompt that holds a hint."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.memory import Memory
from assay.part import Part
from assay.tasks.task import steps_of
from assay.types import Origin, Problem, Request, Segment

if TYPE_CHECKING:
    from assay.augment import Codec


def hint_of(problem: Problem, *, share: float) -> str:
    """The problem's own hint, else this share of its steps: one at least, never the last. '' where there is none."""
    if problem.hints:
        return problem.hints[0]
    steps = steps_of(problem)
    count = min(max(1, round(share * len(steps))), len(steps) - 1) if share > 0 else 0
    return "".join(steps[:count]).rstrip(",|\n") if count > 0 else ""


def with_hint(problem: Problem, hint: str, *, title: str = "Hint: ") -> Any:
    """The prompt with the hint at its end; the prompt itself where the hint is empty."""
    if not hint:
        return problem.prompt
    note = f" [{hint}]" if problem.wording == "compact" else f"\n\n{title}{hint}"
    if isinstance(problem.prompt, str):
        return problem.prompt + note
    *before, last = problem.prompt
    return (*before, {**last, "content": last["content"] + note})


def written_by_others(ids: np.ndarray) -> Segment:
    """Tokens that somebody else wrote, as the beginning of an answer."""
    return Segment(ids=ids, origin=np.full(len(ids), Origin.INJECTED, dtype=np.int8))


def sometimes(request: Request, memory: Memory, purpose: str, *, share: float) -> str:
    """With probability `share` the first steps of the worked solution, any number but all; else ''."""
    draw, length = memory.key(purpose, memory.step, request.id).generator().random(2).tolist()
    return hint_of(request.problem, share=length) if draw < share else ""


@dataclass(frozen=True)
class Hinted(Part):
    """A `share` of the requests reads the first steps of the worked solution in its prompt, any number but all."""

    share: float = 0.3


def hinted(requests: Sequence[Request], memory: Memory, *, codec: Codec, share: float) -> list[Request]:
    result = []
    for request in requests:
        hint = sometimes(request, memory, "hinted", share=share)
        asked = {"context": codec.render(with_hint(request.problem, hint))} if hint else {}
        result.append(dataclasses.replace(request, **asked))
    return result
