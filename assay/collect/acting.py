"""Plays in worlds of numbers: all that are under way take a step together, so that a policy chooses their actions at
once. What was seen, done and earned stands in one segment of the answer, a token for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from assay.ask import Codec
from assay.errors import ConfigError
from assay.rng import Key, uniforms
from assay.tasks import task
from assay.types import Episode, Finish, Floats, Origin, Request, Segment, Verdict
from assay.worlds import Act, Play, Reply, World
from assay.worlds.faults import replied, told

if TYPE_CHECKING:
    from assay.engine.steps.engine import Actions


@runtime_checkable
class Actor(Protocol):
    """What is asked of the engine of a policy over observations."""

    version: int

    def act(self, seen: np.ndarray, requests: Sequence[Request], uniform: np.ndarray) -> Actions: ...


@dataclass
class Record:
    """What a policy saw, did and earned, step by step."""

    ids: list[int] = field(default_factory=list)
    old: list[float] = field(default_factory=list)
    mu: list[float] = field(default_factory=list)
    entropy: list[float] = field(default_factory=list)
    seen: list[Floats] = field(default_factory=list)
    earned: list[float] = field(default_factory=list)
    costs: list[dict[str, float]] = field(default_factory=list)

    def segment(self, *, version: int, node: str, after: Floats | None) -> Segment:
        return Segment(
            ids=np.array(self.ids, np.int32),
            origin=np.full(len(self.ids), Origin.POLICY, np.int8),
            old=np.array(self.old, np.float32),
            mu=np.array(self.mu, np.float32),
            entropy=np.array(self.entropy, np.float32),
            seen=np.stack(self.seen) if self.seen else None,
            earned=np.array(self.earned, np.float32),
            cost=self._costs(),
            after=after,
            version=version,
            node=node,
        )

    def _costs(self) -> Floats | None:
        """[T, K] for the costs of all names, in the order of the alphabet; None if nothing ever cost anything."""
        names = sorted({name for costs in self.costs for name in costs})
        table = [[costs.get(name, 0.0) for name in names] for costs in self.costs]
        return np.array(table, np.float32) if names else None


@dataclass
class Walk:
    """A play of a world of numbers that is under way."""

    request: Request  # with which it began
    world: World
    play: Play
    seen: Floats  # what is observed now
    acts: list[int] = field(default_factory=list)  # all of its actions so far
    record: Record = field(default_factory=Record)  # of its present piece
    finish: Finish | None = None  # None: it goes on
    fault: str = ""

    def take(self, action: int, old: float, mu: float, entropy: float) -> None:
        """Acts, and writes down what came of it."""
        seat, record = self.world.seats[0].name, self.record
        reply = replied(self.play, Act(seat, action=action))
        if not reply.fault:
            reply = reply if reply.ask is None else _shown(reply, self.world)
        if reply.fault:
            self.finish, self.fault = "error", reply.fault
            return
        for stream, value in (("ids", action), ("old", old), ("mu", mu), ("entropy", entropy), ("seen", self.seen)):
            getattr(record, stream).append(value)
        record.earned.append(reply.rewards.get(seat, 0.0))
        record.costs.append(dict(reply.costs))
        self.acts.append(action)
        if reply.ask is not None and reply.ask.seen is not None:
            self.seen = reply.ask.seen
        if reply.ask is None or reply.end:
            self.finish = "length" if reply.end == "limit" and reply.ask is not None else "stop"

    def piece(self, request: Request, codec: Codec, *, version: int) -> Episode:
        """What was done since the last piece, as the answer to this request; `record` begins anew. A walk that goes on
        was cut off, and what is seen now stands behind the answer.
        """
        finish = self.finish or "length"
        after = self.seen if finish == "length" else None
        segment, self.record = self.record.segment(version=version, node=request.id, after=after), Record()
        text = codec.decode(segment.ids.tolist())
        return Episode(request, (segment,), finish, text=text, verdict=self._verdict())

    def _verdict(self) -> Verdict | None:
        if self.finish == "error":
            return Verdict.invalid("world", self.fault)
        try:
            return self.play.judge().get(self.world.seats[0].name)
        except Exception as error:  # told as the verdict on this play
            return Verdict.invalid("world", told(error))


def of_numbers(request: Request) -> bool:
    """Whether a request is for actions in a world of numbers."""
    world = task(request.problem.task).world if request.seat else None
    return world is not None and world.numbers is not None


def begun(request: Request, key: Key) -> Walk:
    """The walk of a request at its beginning. Its randomness is a function of the key and of the request."""
    world = task(request.problem.task).world
    assert world is not None and world.numbers is not None
    walk = Walk(request, world, _Nothing(), np.zeros(0, np.float32))
    try:
        walk.play = world.start(request.problem.spec, key(request.id))
        reply = _shown(walk.play.open(), world)
    except Exception as error:  # told as the fault of this play
        reply = Reply(fault=told(error))
    if reply.fault or reply.ask is None or reply.ask.seen is None:
        walk.finish, walk.fault = "error", reply.fault or "the world ended before anybody acted"
    else:
        walk.seen = reply.ask.seen
    return walk


def walked(
    actor: Actor, requests: Sequence[Request], key: Key, codec: Codec, done: Callable[[int, Episode], None]
) -> None:
    """Plays each request to its end, or to its limit of steps. `done(place, episode)` is called when it is over."""
    walks = [begun(request, key("play")) for request in requests]
    try:
        live = list(range(len(requests)))
        noise = _noise(requests, key)
        while live:
            live = [i for i in live if not _told(walks[i], requests[i], i, actor, codec, done)]
            step(actor, [walks[i] for i in live], [requests[i] for i in live], noise[live])
    finally:
        for walk in walks:
            walk.play.close()


def _told(
    walk: Walk, request: Request, place: int, actor: Actor, codec: Codec, done: Callable[[int, Episode], None]
) -> bool:
    """Whether a walk is over; then it has been told."""
    over = walk.finish is not None or len(walk.record.ids) >= request.max_new
    if over:
        done(place, walk.piece(request, codec, version=actor.version))
    return over


def step(actor: Actor, walks: Sequence[Walk], requests: Sequence[Request], noise: np.ndarray) -> None:
    """One step of every walk. `noise` [walks, steps]: of each row the number is taken that the walk's piece has come
    to.
    """
    if not walks:
        return
    place = [len(walk.record.ids) for walk in walks]
    seen = np.stack([walk.seen for walk in walks])
    chosen = actor.act(seen, requests, noise[np.arange(len(walks)), place])
    numbers = (chosen.ids.tolist(), chosen.old.tolist(), chosen.mu.tolist(), chosen.entropy.tolist())
    for walk, *taken in zip(walks, *numbers, strict=True):
        walk.take(*taken)


def _noise(requests: Sequence[Request], key: Key) -> np.ndarray:
    most = max((request.max_new for request in requests), default=0)
    return uniforms(key.branches(request.id for request in requests), most)


def actor_of(engine: object) -> Actor:
    """The engine as one that acts. A policy that reads words is refused."""
    if not isinstance(engine, Actor):
        raise ConfigError(
            "this task is a world of numbers: a policy observes, and chooses among actions. Take one of the kind mlp "
            "or tabular, such as --model mlp:64x64; a language model reads words."
        )
    return engine


def _shown(reply: Reply, world: World) -> Reply:
    """The reply; a fault if what it shows is not what the world said that it shows."""
    assert world.numbers is not None
    seen = None if reply.ask is None else reply.ask.seen
    if seen is None or seen.shape != (world.numbers.observed,):
        shape = "nothing" if seen is None else f"an array of the shape {seen.shape}"
        return Reply(fault=f"the world shows {shape} in place of {world.numbers.observed} numbers")
    return reply if np.isfinite(seen).all() else Reply(fault="what the world shows is not finite")


class _Nothing:
    """A play that could not begin."""

    def open(self) -> Reply:
        return Reply()

    def step(self, act: Act) -> Reply:
        return Reply()

    def judge(self) -> dict[str, Verdict]:
        return {}

    def save(self) -> None:
        """There is no state."""

    def close(self) -> None:
        """It holds nothing."""
