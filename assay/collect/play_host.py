"""The program of a process in which plays run apart: it reads orders and writes what came of them, in lines of JSON.

Each play has a thread of its own, so that one that waits holds no other. What a world prints goes to the error stream.
The process ends with its input: with the process that asks.
"""

from __future__ import annotations

import base64
import functools
import importlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from assay.rng import Key
from assay.tasks import controlled, task
from assay.types import CONTROLS
from assay.worlds import Play, World
from assay.worlds.door import world_of_door
from assay.worlds.wire import act_of, reply_data, verdict_data

Order = Mapping[str, Any]
PATIENCE = 0.8  # of the time that a reply may take, for a call of a server: then it is ended, and no other play with it


class Hosted:
    """A play, with the orders for it in turn."""

    def __init__(self, answer: Callable[[Order, Any], None]) -> None:
        self.answer, self.orders = answer, queue.SimpleQueue[Order | None]()
        self.play: Play | None = None
        self.why = "the process of the play was begun anew"  # there is no play
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while (order := self.orders.get()) is not None:
            try:
                self.answer(order, self._done(order))
            except BaseException as error:  # told to the process that asks, which ends the play or tries again
                self.why = f"{type(error).__name__}: {error}" if order["do"] == "start" else self.why
                self.answer(order, {"error": f"{type(error).__name__}: {error}"})

    def _done(self, order: Order) -> Any:
        do = order["do"]
        if do == "start":
            return self._started(order)
        if self.play is None:
            raise RuntimeError(self.why)
        if do == "step":
            return reply_data(self.play.step(act_of(order["act"])))
        if do == "judge":
            return {name: verdict_data(verdict) for name, verdict in self.play.judge().items()}
        if do == "save":
            saved = self.play.save()
            return None if saved is None else base64.b64encode(saved).decode()
        self.play.close()
        return None

    def _started(self, order: Order) -> Any:
        world = _world_of(order)
        key = Key.from_hex(order["key"])
        if order["saved"] is None:
            play = world.start(order["spec"], key)
            opened = reply_data(play.open())
            self.play = play
            return opened
        assert world.resume is not None
        self.play = world.resume(order["spec"], key, base64.b64decode(order["saved"]))
        return None


def _world_of(order: Order) -> World:
    if order["door"]:
        return world_of_door(order["door"])
    own = (tuple(order["tools"]), tuple(order["servers"]))
    return _of_tools(*own, order["seconds"]) if any(own) else _of_task(order)


def _of_task(order: Order) -> World:
    name, (module, attribute) = order["task"], order["at"]
    if not module:
        known = task(name)
    else:
        known = getattr(importlib.import_module(module), attribute)
        known = controlled(name, known) if name.startswith(CONTROLS) else known
    assert known.world is not None
    return known.world


@functools.cache
def _of_tools(names: tuple[str, ...], servers: tuple[str, ...], seconds: float) -> World:
    """The world of these functions, FILE.py:FUNCTION, whose files are imported here, and of the tools of MCP servers,
    whose calls end before the reply of a play would be too late.
    """
    from assay.verifiers.functions.naming import imported, parse
    from assay.worlds.functions import pairs_of
    from assay.worlds.speech import CHAT
    from assay.worlds.tools import calling

    pairs = pairs_of([imported(parse(name)) for name in names])
    if servers:
        from assay.worlds.mcp.served_tools import open_listings, served

        pairs += served(open_listings(servers), seconds=PATIENCE * seconds)
    return calling(pairs, speech=CHAT)


def pipes() -> tuple[BinaryIO, BinaryIO]:
    """Orders and answers. A world, and programs that it starts, neither read the orders nor write between answers."""
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    sys.stdout = sys.stderr
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return orders, answers


def end() -> None:
    """Ends the process, if it leads a group with all that its worlds have started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def main() -> None:
    """Answers orders until the input ends."""
    orders, answers = pipes()
    lock, plays = threading.Lock(), dict[int, Hosted]()

    def write(data: Any) -> None:
        line = json.dumps(data).encode() + b"\n"
        try:
            with lock:
                answers.write(line)
                answers.flush()
        except BrokenPipeError:  # who asked has ended, and nobody is left to be told
            end()

    def answer(order: Order, made: Any) -> None:
        write([order["ticket"], order["play"], made])

    write("ready")
    for line in orders:
        order = json.loads(line)
        number = order["play"]
        if number not in plays:
            plays[number] = Hosted(answer)
        plays[number].orders.put(order)
        if order["do"] == "close":
            plays.pop(number).orders.put(None)
    end()


if __name__ == "__main__":
    main()
