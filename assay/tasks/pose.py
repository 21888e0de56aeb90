"""Posing problems of a task, as a task of its own: `pose:NAME`. Whatever is an instance is right.

There is no wrong problem to guess at, so these stand beside the tasks and not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.task import Solution, Spec, Task
from assay.types import Verdict

PREFIX = "pose:"
_MAX_CHARACTERS = 4096


@dataclass(frozen=True)
class Posing:
    """How problems of a task are posed by writing. Functions are pure and total, like a checker's."""

    seed: Spec  # the instance from which everything may begin
    shown: int  # how many instances are shown
    compact: Callable[[Sequence[Spec]], str]  # asks for another one than these
    natural: Callable[[Sequence[Spec]], str]
    write: Callable[[Spec], str]  # an instance in the form that is asked for
    read: Callable[[str, Sequence[Spec]], Spec | None]  # what was written; None: it is no instance
    level: Callable[[Spec], int]
    example: Callable[[np.random.Generator, int, Sequence[Spec]], Spec]  # one that may be asked for beside these
    sources: tuple[str, ...] = ()  # tasks whose instances are shown; none named: its own


def pose(posed: Task) -> Task:
    """The task of posing problems of this one."""
    posing = posed.posing
    assert posing is not None

    def instance(generator: np.random.Generator, level: int) -> Spec:
        shown = [posed.instance(generator, level) for _ in range(posing.shown)]
        return {"shown": shown, "example": posing.example(generator, level, shown)}

    def check(spec: Spec, text: str) -> Verdict:
        found = posing.read(text, spec["shown"]) if len(text) <= _MAX_CHARACTERS else None
        return Verdict.fail("format", f"no problem of '{posed.name}'") if found is None else Verdict.ok(text)

    return Task(
        name=PREFIX + posed.name,
        domain=posed.domain,
        summary=f"Pose problems of {posed.name}; the level is that of the instances shown.",
        levels=posed.levels,
        instance=instance,
        canonical=lambda spec: posing.compact(spec["shown"]),
        compact=lambda spec: posing.compact(spec["shown"]),
        natural=lambda spec: posing.natural(spec["shown"]),
        solve=lambda spec: Solution(posing.write(spec["example"])),
        check=check,
    )
