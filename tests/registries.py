"""The registries of recipes, parts and tasks, put back to what they were before a test registered something."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, MutableMapping
from typing import Any

from assay import known
from assay.tasks import TASKS

TABLES: tuple[MutableMapping[Any, Any], ...] = (
    known.RECIPES,
    known.LIKES,
    known.METHOD_OF,
    *known.PARTS.values(),
    TASKS,
)


@contextlib.contextmanager
def registries_restored() -> Iterator[None]:
    before = [dict(table) for table in TABLES]
    try:
        yield
    finally:
        for table, was in zip(TABLES, before, strict=True):
            table.clear()
            table.update(was)
