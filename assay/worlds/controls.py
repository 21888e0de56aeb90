"""Controls: a world that says to each play what it would have said to another one, and a world that says nothing.

A policy that answers from what it reads falls to the rate of blind guesses in the first. What it reaches in the second,
trained as long there, it did not need the replies for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.rng import Key
from assay.types import Verdict
from assay.worlds.play import Act, Ask, Play, Reply, Spec, World

Another = Callable[[Spec, Key], tuple[Spec, Sequence[str]]]
"""(spec, key) -> the spec of another problem, and turns of a play of it, each of which calls something."""


def shuffled(world: World, another: Another) -> World:
    """The world, whose replies to a play are those to the turns of another; after its last turn they begin anew.

    Whatever the policy calls, the first reply is that to the first turn of the other play, and so on. A turn that calls
    nothing ends the play, as before; where the other play has ended, the reply is empty.
    """

    def start(spec: Spec, key: Key) -> Play:
        other, turns = another(spec, key)
        return _Mistaken(world, key, other, turns)

    return dataclasses.replace(world, start=start, resume=None, fork="replay", control=True)


@dataclass
class _Mistaken:
    """A play that hears what is said to another."""

    world: World
    key: Key
    other: Spec
    turns: Sequence[str]
    heard: int = 0

    def __post_init__(self) -> None:
        self.inner = self.world.start(self.other, self.key)

    def open(self) -> Reply:
        return self.inner.open()

    def step(self, act: Act) -> Reply:
        if not act.calls:
            return Reply(end="ended")
        turn = self.turns[self.heard % len(self.turns)]
        if self.heard and self.heard % len(self.turns) == 0:
            self._anew()
        self.heard += 1
        reply = self.inner.step(self.world.act(act.seat, turn, waits=True))
        if reply.fault:
            return reply
        return Reply(reply.ask or Ask(act.seat), failed=reply.failed)

    def _anew(self) -> None:
        """The other play, from its beginning."""
        self.inner.close()
        self.inner = self.world.start(self.other, self.key)
        self.inner.open()

    def judge(self) -> Mapping[str, Verdict]:
        return {}

    def save(self) -> None:
        """The same acts come to the same state."""

    def close(self) -> None:
        self.inner.close()


def elsewhere(world: World, another: Callable[[Spec], Spec]) -> World:
    """The world, whose replies are those to the same acts in a play of another problem; empty ones where that play has
    ended. Its own play decides when it ends, and its verdicts. For worlds in which nothing is called, as in games.
    """

    def start(spec: Spec, key: Key) -> Play:
        return _Misled(world.start(spec, key), world.start(another(spec), key))

    return dataclasses.replace(world, start=start, resume=None, fork="replay", control=True)


@dataclass
class _Misled:
    """A play that hears what is said in another one, in which the same is done."""

    inner: Play
    other: Play
    over: bool = False  # the other play

    def open(self) -> Reply:
        self.other.open()
        return self.inner.open()

    def step(self, act: Act) -> Reply:
        reply = self.inner.step(act)
        if reply.ask is None:
            return reply
        heard = Reply() if self.over else self.other.step(act)
        if heard.fault:
            return heard
        self.over = heard.ask is None
        return dataclasses.replace(reply, ask=dataclasses.replace(reply.ask, say=heard.ask.say if heard.ask else ()))

    def judge(self) -> Mapping[str, Verdict]:
        return self.inner.judge()

    def save(self) -> None:
        """The same acts come to the same state."""

    def close(self) -> None:
        self.inner.close()
        self.other.close()


def silent(world: World) -> World:
    """The world, whose replies are empty. It is played as before: its ends, its rewards and its verdicts stay."""

    def start(spec: Spec, key: Key) -> Play:
        return _Silent(world.start(spec, key))

    def resume(spec: Spec, key: Key, saved: bytes) -> Play:
        assert world.resume is not None
        return _Silent(world.resume(spec, key, saved))

    return dataclasses.replace(world, start=start, resume=None if world.resume is None else resume, control=True)


@dataclass
class _Silent:
    """A play that tells nothing."""

    inner: Play

    def open(self) -> Reply:
        return self.inner.open()

    def step(self, act: Act) -> Reply:
        reply = self.inner.step(act)
        if reply.ask is None:
            return reply
        say = tuple(dataclasses.replace(line, text="") for line in reply.ask.say)
        return dataclasses.replace(reply, ask=dataclasses.replace(reply.ask, say=say))

    def judge(self) -> Mapping[str, Verdict]:
        return self.inner.judge()

    def save(self) -> bytes | None:
        return self.inner.save()

    def close(self) -> None:
        self.inner.close()
