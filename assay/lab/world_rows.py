"""The rows of `assay list worlds`: tasks in which something replies, games, and libraries that are reached.
For each it says whether what it needs is installed, and what installs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.externals.by_name import external
from assay.tasks import TASKS, Task, task
from assay.tasks.games import GAMES, OPPONENTS
from assay.worlds import Seat
from assay.worlds.foreign import BRIDGES, Bridge


def world_rows() -> list[dict[str, Any]]:
    """A row for each world: `world_rows()[0]["installed"]`."""
    own = [_of_task(known) for known in TASKS.values() if known.world is not None]
    games = [task(f"game:{name}{'-' if one else ''}{one}") for name in GAMES for one in OPPONENTS]
    return [*own, *map(_of_task, games), *map(_of_library, BRIDGES.values())]


def _of_task(known: Task) -> dict[str, Any]:
    assert known.world is not None
    needed = [external(name) for name in dict.fromkeys((*known.checker.externals, *known.world.externals))]
    lacking = [one.install for one in needed if one.version() is None]
    return _row(known.name, known.summary, known.world.seats, install=[one.install for one in needed], lacking=lacking)


def _of_library(bridge: Bridge) -> dict[str, Any]:
    """A server is reached without anything that is installed here."""
    seats = [Seat(f"player-{seat}") for seat in range(bridge.seats)] if bridge.seats > 1 else [Seat()]
    lacking = [] if bridge.served or bridge.found() else [bridge.install]
    return _row(f"{bridge.name}:NAME", f"{bridge.about}, as in {bridge.example}", seats, [bridge.install], lacking)


def _row(name: str, about: str, seats: Iterable[Seat], install: list[str], lacking: list[str]) -> dict[str, Any]:
    told = f" [not installed: {' && '.join(lacking)}]" if lacking else ""
    return {
        "name": name,
        "summary": f"{about}{told}",
        "seats": {seat.name: seat.role for seat in seats},
        "installed": not lacking,
        "install": " && ".join(install),
    }
