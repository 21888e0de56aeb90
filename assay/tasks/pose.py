"""Posing problems of a task, as a task of its own: `pose:NAME`. Every answer that is an instance of the task is right.

Such tasks have no wrong problem to find, so they are made on demand and are not listed among the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.task import Ability, Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

PREFIX = "pose:"
_MAX_CHARACTERS = 4096


@dataclass(frozen=True)
class Posing(Ability):
    """How a policy poses problems of a task: some instances are shown to it, and
    it writes another one. All functions are pure and total, as a checker is.

    Example:
        posing = task("dsl-deduction").ability(Posing)
        posing.read("s 012", [])  # {"program": "s", "input": "012", "output": "021"}
    """

    seed: Spec  # the instance that self-play starts from
    shown: int  # how many instances are shown
    compact: Callable[[Sequence[Spec]], str]  # the request for another instance than these, in compact wording
    natural: Callable[[Sequence[Spec]], str]  # the request in natural wording
    write: Callable[[Spec], str]  # an instance, written in the form that is asked for
    read: Callable[[str, Sequence[Spec]], Spec | None]  # the instance that was written; None: the text is no instance
    level: Callable[[Spec], int]  # the level of an instance
    example: Callable[[np.random.Generator, int, Sequence[Spec]], Spec]  # draws an instance that could be the answer
    sources: tuple[str, ...] = ()  # the tasks whose instances are shown; (): the task itself


def pose(posed: Task, posing: Posing) -> Task:
    """The task of posing problems of `posed`."""

    def instance(generator: np.random.Generator, level: int) -> Spec:
        shown = [posed.generator.instance(generator, level) for _ in range(posing.shown)]
        return {"shown": shown, "example": posing.example(generator, level, shown)}

    def check(spec: Spec, text: str) -> Verdict:
        problem = posing.read(text, spec["shown"]) if len(text) <= _MAX_CHARACTERS else None
        return Verdict.fail("format", f"no problem of '{posed.name}'") if problem is None else Verdict.ok(text)

    return Task(
        name=PREFIX + posed.name,
        domain=posed.domain,
        summary=f"Pose problems of {posed.name}; the level is that of the instances shown.",
        generator=Generator(
            levels=posed.generator.levels, instance=instance, canonical=lambda spec: posing.compact(spec["shown"])
        ),
        wordings=Wordings(
            compact=lambda spec: posing.compact(spec["shown"]),
            natural=lambda spec: posing.natural(spec["shown"]),
            solve=lambda spec: Solution(posing.write(spec["example"])),
        ),
        checker=Checker(check=check, externals=posed.checker.externals),
    )
