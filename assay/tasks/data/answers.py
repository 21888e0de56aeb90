"""Checks that the rows of a table have gold answers to verify by."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.tasks.data.rows import ANSWERS, SHOWN, TESTS, Table, count_of, listed
from assay.types import Problem


def require_gold(table: Table) -> None:
    """Raises DataError if some rows have no gold answer."""
    without = [problem.spec["row"] for problem in table.problems if problem.spec["gold"] is None]
    if not without:
        return
    where = f"in the column '{table.columns.answer}'" if table.columns.answer else f"in any of {', '.join(ANSWERS)}"
    files = ", ".join(Path(place).name for place in table.places)
    raise DataError(
        f"{count_of(len(without), 'row')} of {files} cannot be verified: no answer {where} "
        f"({listed(without)}). Name the column with --answer-column, or say what an answer earns with "
        "--reward file.py:function."
    )


@dataclass(frozen=True)
class Trouble:
    """Why a row cannot be verified: `Trouble("no answer", "no answer")`."""

    reason: str  # in words that are the same for all rows of this kind
    why: str


NO_ANSWER = Trouble("no reference answer", "no reference answer")


def troubles_of(problems: Sequence[Problem]) -> list[Trouble | None]:
    """For each problem with a gold answer, why no answer can be verified against it; None if one can."""
    from assay.verifiers.mathematics.golds import troubles

    found = {
        i: _trouble_of_tests(problem.spec["gold"]) for i, problem in enumerate(problems) if problem.spec.get(TESTS)
    }
    found |= {i: None for i, problem in enumerate(problems) if problem.spec.get("ruled")}  # were read with their rows
    rest = [i for i in range(len(problems)) if i not in found]
    whys = troubles([problems[i].spec["gold"] for i in rest]) if rest else []
    found |= {i: Trouble(_alike(why), why) if why else None for i, why in zip(rest, whys, strict=True)}
    return [found[i] for i in range(len(problems))]


def _trouble_of_tests(gold: str) -> Trouble | None:
    from assay.verifiers.programs import UnreadableTest, read_tests

    try:
        read_tests(json.loads(gold))
    except UnreadableTest as error:
        return Trouble(error.reason, str(error))
    except (DataError, ValueError, TypeError, RecursionError) as error:
        return Trouble(_alike(str(error)), f"no tests of a program: {error}")
    return None


def _alike(why: str) -> str:
    """A reason without what is of one row alone: texts in quotation marks, and numbers."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "...", why)[:120]


def no_gold(files: str, column: str, rows: Sequence[Mapping[str, Any]]) -> DataError:
    """The error if none of the gold answers can be verified against. `rows` say what is wrong with some of them."""
    reasons = [f"  row {row['row']}: {row['gold']!r}: {row['why']}" for row in rows[:SHOWN]]
    reasons = reasons or ["  it is empty in all rows"]
    return DataError(
        f"none of the answers in the column '{column}' of {files} can serve as gold answers:\n"
        + "\n".join(reasons)
        + "\nName another column with --answer-column, or say what an answer earns with --reward file.py:function."
    )
