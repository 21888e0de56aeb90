"""What a plan says of the worlds of a run: who speaks, how long replies may be, and in which processes plays run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from assay.scale import Scale
from assay.tasks import short, task

if TYPE_CHECKING:
    from assay.run.experiment import Machine
    from assay.worlds import World


def worlds_of(tasks: Iterable[str]) -> dict[str, World]:
    """Task -> its world, of those that have one."""
    known = {name: task(name).world for name in dict.fromkeys(tasks)}
    return {short(name): world for name, world in known.items() if world is not None}


def hosts_of(tasks: Iterable[str], machine: Machine) -> int:
    """How many processes a run has in which plays run apart; 0 if its worlds wait for nobody."""
    return machine.hosts if any(world.apart for world in worlds_of(tasks).values()) else 0


def seats_of(tasks: Iterable[str]) -> int:
    """How many answers of one play are learnt from, at the most."""
    return max((sum(seat.trains for seat in world.seats) for world in worlds_of(tasks).values()), default=1)


def lines_of_worlds(tasks: Iterable[str], scale: Scale, machine: Machine) -> list[str]:
    """A line on each world, and one on the length of replies; none where nobody replies in words."""
    tasks = list(tasks)
    worlds = {name: world for name, world in worlds_of(tasks).items() if world.numbers is None}
    lines = [f"{name}: {_speakers(world)}; {_place(world, machine)}" for name, world in worlds.items()]
    return [*lines, f"replies {_length(scale)}"] if lines else []


def _speakers(world: World) -> str:
    if world.door:
        return f"answered by `{json.loads(world.door)['command']}`"
    seats = [seat.name if seat.trains else f"{seat.name} (not trained)" for seat in world.seats]
    calls = ", ".join(tool.name for tool in world.tools)
    who = f"seats {' and '.join(seats)}" if len(seats) > 1 else "it replies to one seat"
    return f"{who}, tools {calls}" if calls else who


def _place(world: World, machine: Machine) -> str:
    if not world.apart:
        return "plays run in the process that samples"
    return (
        f"plays run apart, in {machine.hosts} processes (machine.hosts), replies in {machine.replies} and within "
        f"{machine.reply_seconds:g} s"
    )


def _length(scale: Scale) -> str:
    whole = (
        f"have {scale.max_replies} tokens of an answer beside its own {scale.max_new}, {scale.longest} together"
        if scale.max_replies
        else f"count towards the {scale.max_new} tokens of an answer (scale.max_replies gives them their own)"
    )
    each = f"{scale.longest_reply} tokens at most" if scale.longest_reply else "no limit of its own"
    return f"{whole}; one has {each}"
