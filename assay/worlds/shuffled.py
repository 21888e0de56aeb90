"""A control: the world says to each play what it would have said to another one.

A policy that answers from what it reads falls to the rate of blind guesses here. One that knows answers by heart, or
reads them off the prompt, does not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.rng import Key
from assay.types import Verdict
from assay.worlds.play import Act, Play, Reply, Spec, World

Another = Callable[[Spec, Key], tuple[Spec, Sequence[str]]]
"""(spec, key) -> the spec of another problem, and turns of a play of it, each of which calls something."""


def shuffled(world: World, another: Another) -> World:
    """The world, whose replies to a play are those to the turns of another; after its last turn they begin anew.

    Whatever the policy calls, the first reply is that to the first turn of the other play, and so on. A turn that calls
    nothing ends the play, as before.
    """

    def start(spec: Spec, key: Key) -> Play:
        other, turns = another(spec, key)
        return _Mistaken(world, world.start(other, key), turns)

    return dataclasses.replace(world, start=start, resume=None, fork="replay")


@dataclass
class _Mistaken:
    """A play that hears what is said to another."""

    world: World
    inner: Play
    turns: Sequence[str]
    heard: int = 0

    def open(self) -> Reply:
        return self.inner.open()

    def step(self, act: Act) -> Reply:
        if not act.calls:
            return self.inner.step(act)
        turn = self.turns[self.heard % len(self.turns)]
        self.heard += 1
        return self.inner.step(self.world.act(act.seat, turn, waits=True))

    def judge(self) -> Mapping[str, Verdict]:
        return {}

    def save(self) -> None:
        """The same acts come to the same state."""

    def close(self) -> None:
        self.inner.close()
