"""The task of the tests with a world that asks back, and worlds whose replies are functions of what was said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tiny import TINY

from assay.rng import Key
from assay.tasks import Task
from assay.types import Verdict
from assay.worlds import Act, Ask, Call, Line, Play, Reply, Spec, Tool, World

REPLY = "cc"
Said = Callable[[Spec, str], str | None]
"""(spec, all that was said so far) -> the reply; None ends the play."""


@dataclass(frozen=True)
class StopsAt:
    """Waits behind these texts; nothing is called."""

    ends: tuple[str, ...]
    name: str = "stops"
    markers: tuple[str, ...] = ()
    templated: ClassVar[bool] = False

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return self.ends

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        return (Call("", {"text": text}),) if waits else ()

    def write(self, lines: Sequence[Line]) -> str:
        return "".join(line.text for line in lines)

    def call(self, name: str, arguments: Mapping[str, Any], tools: Sequence[Tool]) -> str:
        return self.ends[0]

    def about(self, tools: Sequence[Tool]) -> str:
        return ""


@dataclass
class Replying:
    """A play whose replies depend on all that was said."""

    spec: Spec
    reply: Said
    failed: Callable[[str], bool]
    heard: str = ""

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        self.heard += act.text
        reply = self.reply(self.spec, self.heard) if act.calls else None
        if reply is None:
            return Reply(end="ended")
        self.heard += reply
        return Reply(Ask(say=(Line(reply),)), failed=self.failed(reply))

    def judge(self) -> Mapping[str, Verdict]:
        return {}

    def save(self) -> bytes:
        return self.heard.encode()

    def close(self) -> None:
        """It holds nothing."""


def replying(reply: Said, *ends: str, failed: Callable[[str], bool] = lambda reply: False, **about: Any) -> World:
    """The world of one seat that replies so behind these texts."""

    def resume(spec: Spec, key: object, saved: bytes) -> Play:
        return Replying(spec, reply, failed, saved.decode())

    start = lambda spec, key: Replying(spec, reply, failed)  # noqa: E731
    return World(start, speech=StopsAt(ends), resume=resume, fork="save", **about)


def asks_back(spec: object, text: str) -> str | None:
    """Asks back after every b, twice at most."""
    return REPLY if text.endswith("b") and text.count(REPLY) < 2 else None


TALKING = dataclasses.replace(TINY, world=replying(asks_back, "b"))


def replies(task: Task, spec: Spec, *turns: str) -> list[Reply]:
    """The replies of a task's world to turns that end where it replies."""
    world = task.world
    assert world is not None
    play, seat = world.start(spec, Key(0)), world.seats[0].name
    play.open()
    return [play.step(world.act(seat, turn, waits=True)) for turn in turns]


def said(reply: Reply) -> str:
    """What a reply says."""
    return "" if reply.ask is None else "".join(line.text for line in reply.ask.say)
