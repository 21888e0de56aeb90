"""Several files as one set of rows. Equal rows of different files are one
problem, and a row is named by file and line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.tasks.data.rows import Columns, Table, listed, read_table
from assay.types import Problem


def read_set(places: Sequence[str], **settings: Any) -> Table:
    """The rows of one file, or of several files joined in the given order. One
    error reports the faults of all files.
    """
    tables: list[Table] = []
    refused: list[str] = []
    for file in places:
        try:
            tables.append(read_table(file, **settings))
        except DataError as error:
            refused.append(str(error))
    if refused:
        raise DataError("\n".join(refused))
    if len(tables) == 1:
        return tables[0]
    _require_one_way(tables)
    return _joined(tables)


def _require_one_way(tables: Sequence[Table]) -> None:
    """Raises DataError if some files have texts as prompts and others have
    messages; reward functions expect one form.
    """
    texts = [table.place for table in tables if isinstance(table.problems[0].prompt, str)]
    talks = [table.place for table in tables if table.place not in texts]
    if texts and talks:
        raise DataError(
            f"the prompts of {texts[0]} are texts, and those of {talks[0]} are lists of messages: write all files of a "
            "set in one form."
        )


def _joined(tables: Sequence[Table]) -> Table:
    places = tuple(file for table in tables for file in table.places)
    unique: dict[str, Problem] = {}
    again: list[str] = []
    repeats: list[str] = []
    notes: list[str] = []
    for table, name in zip(tables, names_of(places), strict=True):
        repeats += [f"{name}:{line}" for line in table.repeats]
        notes += [f"{name}: {note}" for note in table.notes]
        for problem in table.problems:
            row = f"{name}:{problem.spec['row']}"
            if problem.id in unique:
                again.append(row)
            else:
                unique[problem.id] = dataclasses.replace(problem, spec={**problem.spec, "row": row})
    if again:
        notes.append(f"{len(again)} rows left out, because an earlier file has the same row: {listed(again)}")
    return Table(
        places,
        _columns([table.columns for table in tables]),
        tuple(unique.values()),
        sum(table.num_rows for table in tables),
        (*repeats, *again),
        tuple(fault for table in tables for fault in table.faults),
        tuple(notes),
        tuple(digest for table in tables for digest in table.digests),
    )


def names_of(places: Sequence[str], *, whole: bool = True) -> list[str]:
    """The name of each file without its folder. If two files have the same name
    and `whole` is set, their whole paths.
    """
    short = [Path(place).name if place.startswith("/") else place for place in places]
    if not whole:
        return short
    return [place if short.count(name) > 1 else name for place, name in zip(places, short, strict=True)]


def _columns(found: Sequence[Columns]) -> Columns:
    """The columns of all files, for people to read. Names that differ from file to file are joined by "or"."""

    def either(names: Sequence[str | None]) -> str | None:
        return " or ".join(dict.fromkeys(name for name in names if name)) or None

    return Columns(
        either([columns.prompt for columns in found]) or "",
        either([columns.answer for columns in found]),
        either([columns.solution for columns in found]),
        tuple(dict.fromkeys(name for columns in found for name in columns.others)),
        tests=any(columns.tests for columns in found),
        ruled=any(columns.ruled for columns in found),
    )
