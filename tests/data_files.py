"""Files of rows for tests, and what comes of reading them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.tasks.data.rows import Table
from assay.tasks.data.task import data, tables
from assay.types import Problem


def jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def table_of(path: Path, **said: Any) -> Table:
    return tables(data(path, **said).name)[0]


def problems_of(path: Path, **said: Any) -> tuple[Problem, ...]:
    return table_of(path, **said).problems


def sums(count: int, *, first: int = 0) -> list[dict[str, Any]]:
    """Different questions with their answers."""
    return [{"question": f"What is {i} + {i * i}?", "answer": str(i + i * i)} for i in range(first, first + count)]
