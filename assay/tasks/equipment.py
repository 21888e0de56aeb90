"""Which tools a policy has in the worlds of tasks, for parts of recipes that need one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from assay.tasks import task


class OfTask(Protocol):
    """A share of a pool."""

    @property
    def task(self) -> str: ...


class OfShares(Protocol):
    """A pool of problems (`assay.source.Pool`)."""

    @property
    def shares(self) -> Sequence[OfTask]: ...


def lacking(part: str, pool: OfShares, tools: Sequence[str]) -> str | None:
    """Why a part that needs one of these tools cannot work on the tasks of this pool, and what to change; None if it
    can.

    lacking("LimitCalls", Pool((Share("countdown"),)), ("python",))
    """
    for name in (share.task for share in pool.shares):
        world = task(name).world
        there = [] if world is None else [tool.name for tool in world.tools]
        if not set(there) & set(tools):
            wanted = " or ".join(f"'{tool}'" for tool in tools)
            has = f"has {', '.join(there)}" if there else "has none"
            return (
                f"{part} needs a world with the tool {wanted}, and that of '{name}' {has}. Take another task (`assay "
                "list tasks` shows which have tools: search, search-small, interpreter, ...), or leave the part out."
            )
    return None
