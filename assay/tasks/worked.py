"""Worked solutions of tasks with a world: what a policy writes in them, and what the world replies."""

from __future__ import annotations

import re

from assay.errors import DataError
from assay.rng import Key
from assay.tasks.task import Task
from assay.types import Origin, Problem


def turns(problem: Problem, of: Task) -> list[tuple[str, int]]:
    """The worked solution, cut where the world of the task replies: (text, origin) of each piece, in order.

    turns(problem, task("calculator"))  # [("[12*3]", Origin.INJECTED), ("36", Origin.ENV), ("#36", Origin.INJECTED)]
    """
    rest, world = problem.solution or "", of.world
    world = None if world is None else world.spoken(problem.wording)
    if world is None or not world.stops:
        return [(rest, Origin.INJECTED)]
    if world.control:
        raise DataError(f"'{problem.task}' does not reply as in worked solutions, which cannot be imitated there.")
    if len(world.seats) > 1:
        raise DataError(
            f"'{problem.task}' has {len(world.seats)} seats, and a worked solution is what one of them writes: it "
            "cannot be imitated. Take a recipe that samples its answers."
        )
    pieces: list[tuple[str, int]] = []
    play, seat = world.start(problem.spec, Key("worked")), next(seat.name for seat in world.seats)
    play.open()
    stop = re.compile("|".join(map(re.escape, world.stops)))
    while match := stop.search(rest):
        turn, rest = rest[: match.end()], rest[match.end() :]
        pieces.append((turn, Origin.INJECTED))
        told = play.step(world.act(seat, turn, waits=True))
        ask, ends = told.ask, told.end == "ended" and not rest
        reply = "" if ends else None if ask is None or ask.seat != seat else world.written(ask)
        if reply is None or not rest.startswith(reply):
            raise DataError(
                f"the worked solution of problem {problem.id} of '{problem.task}' goes on with {rest[:20]!r} after "
                f"{turn!r}, but the task's world replies {reply!r}."
            )
        if ends:
            break
        pieces.append((reply, Origin.ENV))
        rest = rest[len(reply) :]
    play.close()
    return [*pieces, (rest, Origin.INJECTED)] if rest or not pieces or pieces[-1][1] == Origin.ENV else pieces
