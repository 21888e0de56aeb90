"""Checks that the rows of a table have gold answers to judge by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.tasks.data.rows import ANSWERS, SHOWN, Table, count_of, listed


def require_gold(table: Table) -> None:
    """Raises DataError if some rows have no gold answer."""
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


def troubles_of_tests(golds: Sequence[str]) -> list[str | None]:
    """For each gold that is tests of a program, why no program can be judged by it; None if one can."""
    from assay.verifiers.programs.forms import read_tests

    found: list[str | None] = []
    for gold in golds:
        try:
            read_tests(json.loads(gold))
            found.append(None)
        except (DataError, ValueError, TypeError, RecursionError) as error:
            found.append(f"no tests of a program: {error}")
    return found


def no_gold(files: str, column: str, rows: Sequence[Mapping[str, Any]]) -> DataError:
    """The error if none of the gold answers can be judged by. `rows` say what is wrong with some of them."""
    reasons = [f"  row {row['row']}: {row['gold']!r}: {row['why']}" for row in rows[:SHOWN]]
    return DataError(
        f"none of the answers in the column '{column}' of {files} can serve as gold answers:\n"
        + "\n".join(reasons)
        + "\nName another column with --answer-column, or say what an answer earns with --reward file.py:function."
    )
