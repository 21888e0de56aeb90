"""Fragments: a step of training takes as many steps in each of some plays as it is told, wherever these stand in their
episodes. Plays are carried from step to step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from assay.ask import Codec
from assay.collect.acting import Actor, Walk, actor_of, begun, of_numbers, replied, step
from assay.errors import DataError
from assay.memory import Memory
from assay.models import Models
from assay.part import Collecting, Count
from assay.rng import uniforms
from assay.types import Episode, Origin, Request, Segment, changed
from assay.worlds import Act

if TYPE_CHECKING:
    from assay.collect import Collect

PLACE = "fragments"  # where the memory holds the plays that go on: their actions so far, and in which step they began

TRIES = 8  # plays in a row that may fail to begin

More = Callable[[Models, Memory, int, int], list[Request]]


class Rewarded(Protocol):
    """Gives episodes the rewards of the recipe and of their worlds."""

    def __call__(self, episodes: Sequence[Episode], models: Models, memory: Memory) -> list[Episode]: ...


@dataclass
class Slot:
    """A place at which one play follows another, and the request for what is done there now."""

    walk: Walk
    begun: int  # the step of training in which the walk began
    now: Request
    noise: np.ndarray


def fragments(collect: Collect, *, more: More, rewarded: Rewarded, codec: Codec, steps: int) -> Collect:
    """As many plays as the step has requests, `steps` steps in each. One that ends makes room for the next request.
    Answers in words are collected whole.
    """
    live: dict[str, Walk] = {}  # of this process: others are played again from their actions

    def collect_fragments(models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        if not any(map(of_numbers, requests)):
            return collect(models, requests, memory)
        actor = actor_of(models.play(requests[0].role))
        fresh, episodes = _endless(models, requests, memory, more), list[Episode]()
        carried = zip(memory.kept.get(PLACE, ()), memory.store(PLACE).get("begun", ()), strict=True)
        walks = [(_going_on(episode, live, memory, since), since) for episode, since in carried]
        while len(walks) < len(requests):
            walks.append((_next(fresh, episodes, codec), memory.step))
        slots = [_slot(walk, since, number, memory, steps) for number, (walk, since) in enumerate(walks)]
        episodes += _pieces(actor, slots, fresh, memory, codec, steps)
        live.clear()
        live.update({slot.walk.request.id: slot.walk for slot in slots})
        return rewarded(episodes, models, memory), _remembered(memory, slots)

    return collect_fragments


class Fragments(Collecting):
    """A step of training takes `steps` steps in each of its plays (environments side by side), and goes on from there
    in the next one (PPO 1707.06347). Where it cuts a play off, the critic's value stands for the rest. Answers in words
    are collected whole.

    For your own recipes: on tasks whose worlds show numbers (docs/policies.md), with a critic that is told of limits.

        collect=(Fragments(steps=32),)
        --mechanism.collect fragments --mechanism.collect.0.steps 32
    """

    needs = ()  # it decodes actions where there are any
    steps: Count = 32  # of each play, in a step of training; there are as many plays as requests
    does = fragments


def _endless(models: Models, requests: Sequence[Request], memory: Memory, more: More) -> Iterator[Walk]:
    """Walks at their beginning: those that the step asks for, then of further draws of problems."""
    key, first = memory.key("play", memory.step), 1 + max(request.draw for request in requests)
    for request in requests:
        yield begun(request, key)
    while True:
        drawn = more(models, memory, first, len(requests))
        first += len(requests)
        for request in drawn:
            yield begun(request, key)


def _next(fresh: Iterator[Walk], episodes: list[Episode], codec: Codec) -> Walk:
    """The next walk that could begin. Those that could not are told as episodes, and after TRIES of them the run
    ends.
    """
    for walk in itertools.islice(fresh, TRIES):
        if walk.finish is None:
            return walk
        episodes.append(walk.piece(walk.request, codec, version=0))
    lost = episodes[-1]
    why = "" if lost.verdict is None else lost.verdict.detail
    raise DataError(f"{TRIES} plays of '{lost.request.problem.task}' in a row could not begin: {why}.")


def _slot(walk: Walk, since: int, place: int, memory: Memory, steps: int) -> Slot:
    """The slot with what the walk is asked for from here on, `steps` steps at most. Pieces of a slot are a group."""
    group = f"{memory.step}:{place}"
    now = changed(walk.request, max_new=steps, fork=len(walk.acts), group=group)
    return Slot(walk, since, now, uniforms([memory.key("sample", memory.step)(now.id)], steps)[0])


def _pieces(
    actor: Actor, slots: list[Slot], fresh: Iterator[Walk], memory: Memory, codec: Codec, steps: int
) -> list[Episode]:
    """The pieces of all slots, in the order in which they end. A slot whose play is over takes the next one."""
    episodes: list[Episode] = []

    def close(place: int, last: bool = False) -> None:
        slot = slots[place]
        piece = slot.walk.piece(slot.now, codec, version=actor.version)
        episodes.append(piece if slot.walk.finish else changed(piece, verdict=None))
        if slot.walk.finish:
            slot.walk.play.close()
            slots[place] = _slot(_next(fresh, episodes, codec), memory.step, place, memory, steps)

    for _ in range(steps):
        noise = np.stack([slot.noise for slot in slots])
        step(actor, [slot.walk for slot in slots], [slot.now for slot in slots], noise)
        for place, slot in enumerate(slots):
            if slot.walk.finish:
                close(place)
    for place, slot in enumerate(slots):
        if slot.walk.record.ids:
            close(place)
    return episodes


def _remembered(memory: Memory, slots: Sequence[Slot]) -> Memory:
    """The memory with the plays that go on."""
    held = [_held(slot.walk) for slot in slots]
    return memory.hold(PLACE, held).keep(PLACE, {"begun": [slot.begun for slot in slots]})


def _held(walk: Walk) -> Episode:
    """A walk as its actions so far, and what is seen behind them."""
    ids = np.array(walk.acts, np.int32)
    done = Segment(ids, np.full(len(ids), Origin.POLICY, np.int8), after=walk.seen)
    return Episode(walk.request, (done,), "pause")


def _going_on(episode: Episode, live: dict[str, Walk], memory: Memory, since: int) -> Walk:
    """The walk that was held: of this process, or played again, as after a kill."""
    acts = episode.segments[0].ids.tolist()
    walk = live.pop(episode.request.id, None)
    if walk is not None and walk.acts == acts:
        return walk
    walk = begun(episode.request, memory.key("play", since))
    seat = walk.world.seats[0].name
    for action in acts:
        reply = replied(walk.play, Act(seat, action=action))
        if reply.fault or reply.ask is None or reply.ask.seen is None:
            raise _other_state(episode, reply.fault or "it ended")
        walk.seen = reply.ask.seen
    if walk.finish or not np.array_equal(walk.seen, episode.after):  # type: ignore[arg-type]
        raise _other_state(episode, walk.fault or "it shows something else")
    walk.acts = acts
    return walk


def _other_state(episode: Episode, why: str) -> DataError:
    return DataError(
        f"a play of '{episode.request.problem.task}' was to go on, and the same actions from its beginning do not lead "
        f"there again: {why}. Everything in such a world must follow from the seed of its problem and from its key: "
        "`check_world` looks for that."
    )
