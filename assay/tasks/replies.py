"""Does a policy use what a world tells it? Two controls of any task in which one seat is told things, as tasks of their
own: the same problems, verified in the same way, in the same splits.

`silent:NAME` replies nothing. A policy that is trained there reaches what it can without replies. `shuffled:NAME`
replies what the worked solution of another problem of the same level would have heard; in a game, what the same moves
are answered in another one. A policy that answers from what it reads falls there to the rate of blind guesses.

    assay train grpo --task silent:search-small:2 --model search-small
    assay eval runs/search --task shuffled:search-small:2
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.rng import Key, digest
from assay.tasks.task import Spec, Task
from assay.tasks.worked import turns
from assay.types import CONTROLS, Origin
from assay.worlds.controls import elsewhere, shuffled, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from assay.worlds import World

SILENT, SHUFFLED = CONTROLS
_LEVEL = "level of the replies"  # a field of a spec
_DRAWS = 100


def without_replies(of: Task) -> Task:
    """The task, whose world replies nothing."""
    return _control(SILENT, of, silent(_told(of)), "which gets empty replies")


def with_those_of_another(of: Task) -> Task:
    """The task, whose world replies what it would have told another play."""
    told = _told(of)

    def instance(generator: np.random.Generator, level: int) -> Spec:
        return {**of.generator.instance(generator, level), _LEVEL: level}

    def another(spec: Spec, key: Key) -> tuple[Spec, Sequence[str]]:
        return _other(of, _plain(spec), spec[_LEVEL])

    def unlike(spec: Spec) -> Spec:
        for other in _others(of, _plain(spec), spec[_LEVEL]):
            return other
        raise UsageError(f"'{of.name}' has no other problem of level {spec[_LEVEL]}.")

    world = shuffled(told, another) if told.tools else elsewhere(told, unlike)
    made = _control(SHUFFLED, of, world, "which hears the replies of another play")
    generator = dataclasses.replace(
        made.generator, instance=instance, canonical=lambda spec: of.generator.canonical(_plain(spec))
    )
    return dataclasses.replace(made, generator=generator)


def _plain(spec: Spec) -> Spec:
    """The spec as the task itself has it."""
    return {name: value for name, value in spec.items() if name != _LEVEL}


def _control(kind: str, of: Task, world: World, how: str) -> Task:
    """The splits and the worked solutions are those of the task: answers may be as long. None is imitated here."""
    return dataclasses.replace(
        of,
        name=kind + of.name,
        summary=f"A control: {of.name}, {how}.",
        generator=dataclasses.replace(of.generator, split=of.split_of),
        abilities=(),
        world=world,
    )


def _told(of: Task) -> World:
    """The world of a task of which there is a control."""
    if of.world is None:
        raise UsageError(f"the task '{of.name}' has no world: there are no replies to leave out or to shuffle.")
    if of.world.numbers is not None or len(of.world.seats) > 1:
        what = "shows numbers" if of.world.numbers is not None else f"has {len(of.world.seats)} seats"
        raise UsageError(f"the world of '{of.name}' {what}: controls are for worlds that speak to one seat.")
    if of.generator.rows is not None:
        raise UsageError(f"'{of.name}' has the problems of a file: controls are for tasks that generate theirs.")
    return of.world


def _other(of: Task, spec: Spec, level: int) -> tuple[Spec, Sequence[str]]:
    """Another problem of the level, and what its worked solution calls. The problem alone decides which it is."""
    for other in _others(of, spec, level):
        if calls := _calls(of, other, level):
            return other, calls
    raise UsageError(f"no other problem of '{of.name}' of level {level} calls anything.")


def _others(of: Task, spec: Spec, level: int) -> Iterator[Spec]:
    """Other problems of the level. The problem alone decides which they are."""
    content = of.generator.canonical(spec)
    generator = Key(int(digest("another", of.name, content), 16) % 2**63).generator()
    for _ in range(_DRAWS):
        other = of.generator.instance(generator, level)
        if of.generator.canonical(other) != content:
            yield other


def _calls(of: Task, spec: Spec, level: int) -> Sequence[str]:
    """The turns of the worked solution that call something."""
    own = [text for text, origin in turns(of.pose(spec, level=level), of) if origin != Origin.ENV]
    stops = () if of.world is None else of.world.stops
    return [text for text in own if text.endswith(stops)]
