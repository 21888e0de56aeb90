"""Demonstrations: worked solutions take the place of generated answers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError
from assay.memory import Memory
from assay.part import Asking
from assay.rng import Key
from assay.tasks import Task, task
from assay.types import Origin, Problem, Request, Segment

if TYPE_CHECKING:
    from assay.ask import Codec


def demonstrate(requests: Sequence[Request], memory: Memory, *, codec: Codec) -> list[Request]:
    """Each request gets the worked solution as its prefix and no new tokens, unless it has a prefix already."""
    return [
        request if request.prefix else dataclasses.replace(request, prefix=worked(request.problem, codec), max_new=0)
        for request in requests
    ]


class Demonstrate(Asking):
    """Supervised fine-tuning: every answer is the worked solution, and the policy generates nothing.

    A request that already has a prefix keeps it. The replies of a world within a solution are not imitated.

        ask=(Demonstrate(),)
        --mechanism.ask demonstrate
    """

    solutions = "all"
    does = demonstrate
    needs = ()
    imitates = True


def worked(problem: Problem, codec: Codec) -> tuple[Segment, ...]:
    """The worked solution and an end token, as segments. Replies of the world have the origin `ENV`."""
    if problem.solution is None:
        raise DataError(f"problem {problem.id} of '{problem.task}' has no worked solution to imitate.")
    *before, (last, by) = [(codec.encode(text), origin) for text, origin in turns(problem)]
    pieces = [*before, (np.append(last, np.int32(min(codec.end_ids))), by)]
    return tuple(Segment(ids=ids, origin=np.full(len(ids), origin, dtype=np.int8)) for ids, origin in pieces)


def turns(problem: Problem, of: Task | None = None) -> list[tuple[str, int]]:
    """The worked solution, cut where the world replies: (text, origin) of each piece, in order. The world is that of
    the task of the problem's name, or of the task that is given.
    """
    rest, world = problem.solution or "", (of or task(problem.task)).world
    world = None if world is None else world.spoken(problem.wording)
    if world is None or not world.stops:
        return [(rest, Origin.INJECTED)]
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
