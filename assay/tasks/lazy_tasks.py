"""The table of tasks, which imports a task when somebody asks for it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, MutableMapping

from assay.tasks.task import Task


class LazyTasks(MutableMapping[str, Task]):
    """Name -> task. A task that was never asked for is known as `module:NAME` alone, below `assay.tasks`.

    A listing of recipes reads no task, and a run reads one: so neither waits for the modules of all the others.

        LazyTasks({"countdown": "countdown:COUNTDOWN"})["countdown"].problem(Key(0), level=3)
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._held: dict[str, Task | str] = dict(places)

    def __getitem__(self, name: str) -> Task:
        held = self._held[name]
        if isinstance(held, str):
            module, _, attribute = held.partition(":")
            held = self._held[name] = getattr(importlib.import_module(f"assay.tasks.{module}"), attribute)
        return held

    def __setitem__(self, name: str, task: Task) -> None:
        self._held[name] = task

    def __delitem__(self, name: str) -> None:
        del self._held[name]

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)
