"""Several files as one set of rows: what stands in more than one of them is one problem, and a row is known by its
file and its line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.tasks.data.rows import Columns, Table, listed, read_table
from assay.types import Problem


def read_set(places: Sequence[str], **said: Any) -> Table:
    """One file as it is, several joined in the order in which they were named. What is wrong is told of all of them."""
    tables: list[Table] = []
    refused: list[str] = []
    for place in places:
        try:
            tables.append(read_table(place, **said))
        except DataError as error:
            refused.append(str(error))
    if refused:
        raise DataError("\n".join(refused))
    if len(tables) == 1:
        return tables[0]
    _require_one_way(tables)
    return _joined(tables)


def _require_one_way(tables: Sequence[Table]) -> None:
    """A reward function reads all prompts in one form, as within one file."""
    texts = [table.place for table in tables if isinstance(table.problems[0].prompt, str)]
    talks = [table.place for table in tables if table.place not in texts]
    if texts and talks:
        raise DataError(
            f"{texts[0]} asks by text and {talks[0]} by lists of messages: files of one set are written in one way."
        )


def _joined(tables: Sequence[Table]) -> Table:
    places = tuple(place for table in tables for place in table.places)
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
        notes.append(f"{len(again)} rows stood in an earlier file already, kept once: {listed(again)}")
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
    """Of each its name without the folder; or `whole`, if it may be told, where two would be called the same."""
    short = [Path(place).name if place.startswith("/") else place for place in places]
    if not whole:
        return short
    return [place if short.count(name) > 1 else name for place, name in zip(places, short, strict=True)]


def _columns(found: Sequence[Columns]) -> Columns:
    """As a person reads them: names that differ from file to file stand beside each other."""

    def either(names: Sequence[str | None]) -> str | None:
        return " or ".join(dict.fromkeys(name for name in names if name)) or None

    return Columns(
        either([columns.prompt for columns in found]) or "",
        either([columns.answer for columns in found]),
        either([columns.solution for columns in found]),
        tuple(dict.fromkeys(name for columns in found for name in columns.others)),
    )
