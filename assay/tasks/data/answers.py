"""Answers that the rows of a table give: whether there are some to judge by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.tasks.data.rows import ANSWERS, SHOWN, Table, count_of, listed


def require_gold(table: Table) -> None:
    """Fails where a row has no answer to be judged by."""
    without = [problem.spec["row"] for problem in table.problems if problem.spec["gold"] is None]
    if not without:
        return
    where = f"in the column '{table.columns.answer}'" if table.columns.answer else f"in any of {', '.join(ANSWERS)}"
    files = ", ".join(Path(place).name for place in table.places)
    raise DataError(
        f"{count_of(len(without), 'row')} of {files} cannot be judged: no answer {where} "
        f"({listed(without)}). Name the column with --answer-column, or say what an answer earns with "
        "--reward file.py:function."
    )


def no_gold(files: str, column: str, rows: Sequence[Mapping[str, Any]]) -> DataError:
    """Where there are answers, and none can be judged by; `rows` tell of some what is wrong."""
    told = [f"  row {row['row']}: {row['gold']!r}: {row['why']}" for row in rows[:SHOWN]]
    return DataError(
        f"none of the answers in the column '{column}' of {files} can be judged by:\n"
        + "\n".join(told)
        + "\nName another column with --answer-column, or say what an answer earns with --reward file.py:function."
    )
