"""Which tools a policy has in the worlds of tasks, for parts of recipes that need one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.tasks import task


def lacking(part: str, tasks: Iterable[str], tools: Sequence[str]) -> str | None:
    """Why a part that needs one of these tools cannot work on these tasks, and what to change; None if it can.

    lacking("LimitCalls", ["countdown"], ("python",))
    """
    for name in tasks:
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
