"""`textarena:NAME` and its like: environments of other libraries. A problem is the seed of a reset, or a row of a
file; an answer is worth what its seat wins in all.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import DataError, UsageError
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds.foreign import BRIDGES, Bridge
from assay.worlds.matches import DOMAIN
from assay.worlds.play import World


@functools.cache
def foreign_task(name: str) -> Task:
    """The task `LIBRARY:ENVIRONMENT`, `LIBRARY:ENVIRONMENT@SEATS` or `skyrl:ENVIRONMENT@FILE`."""
    library, _, called = name.partition(":")
    bridge = BRIDGES[library]
    called, _, behind = called.partition("@")
    if not called or (not behind and library == "skyrl"):
        raise UsageError(f"'{name}' names no environment: write it as in {bridge.example}.")
    rows = _rows(behind) if library == "skyrl" else [{}]
    world = _world(bridge, called, "" if library == "skyrl" else behind)
    return Task(
        name=name,
        domain=DOMAIN,
        summary=f"{bridge.about}: {called}; its only level",
        generator=Generator(range(1, 2), functools.partial(_instance, called, len(world.seats), rows), _canonical),
        wordings=Wordings(compact=_shown, natural=_shown, solve=lambda spec: Solution(""), unmarked=True),
        checker=Checker(check=lambda spec, answer: Verdict.fail("wrong", "the environment says what was won")),
        world=world,
    )


def _world(bridge: Bridge, called: str, seats: str) -> World:
    if not bridge.served:
        from assay.worlds.foreign.world import of_library

        if seats and not (seats.isdecimal() and 1 <= int(seats) <= 16):
            raise UsageError(f"{bridge.name}:{called}@{seats}: behind the @ stands the number of players, 1 to 16.")
        return of_library(bridge, int(seats or bridge.seats))
    from assay.worlds.foreign.openenv import server

    host, _, port = called.rpartition(":")
    if not (host and port.isdecimal()):
        raise UsageError(f"{bridge.name}:{called}: write the server as in {bridge.example}.")
    return server(host, int(port))


def _rows(file: str) -> list[dict[str, Any]]:
    """The rows of a file: each has a `prompt`, as messages, and `extras` for the environment."""
    try:
        rows = [json.loads(line) for line in Path(file).read_text().splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(f"{file} cannot be read as lines of JSON: {error}.") from error
    if not rows or not all(isinstance(row, dict) and isinstance(row.get("prompt"), list) for row in rows):
        raise DataError(f"{file}: expected rows with a `prompt`, a list of messages, and `extras`.")
    return rows


def _instance(called: str, seats: int, rows: list[dict[str, Any]], generator: np.random.Generator, level: int) -> Spec:
    row = rows[int(generator.integers(len(rows)))]
    given = {"seats": seats, **{name: row[name] for name in ("prompt", "extras", "config") if name in row}}
    return {"name": called, "seed": int(generator.integers(2**31)), "given": given}


def _canonical(spec: Spec) -> str:
    """A row belongs to one split, whatever the seed; without rows, a seed does."""
    prompt = spec["given"].get("prompt")
    return json.dumps([spec["name"], spec["seed"] if prompt is None else prompt])


def _shown(spec: Spec) -> str:
    """What stands in place of a question: the environment itself says it when it begins."""
    return f"{spec['name']} {spec['seed']}"
