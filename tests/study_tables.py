"""The Python files of a study register recipes and bases, which tests of the built-in ones must not meet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from assay.known import RECIPES
from assay.run.bases import BASES


@contextmanager
def tables_as_they_were() -> Iterator[None]:
    """Behind the block recipes and bases are those of before it."""
    tables: list[dict[str, Any]] = [RECIPES, BASES.held]
    before = [dict(table) for table in tables]
    yield
    for table, own in zip(tables, before, strict=True):
        table.clear()
        table.update(own)
