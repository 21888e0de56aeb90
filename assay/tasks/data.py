"""A file of problems as a task: `data:/path/to/file.jsonl`, with what was said about reading it behind a `?`.

Equal content is one problem, wherever the file lies; what reads the same is in one split.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn
from urllib.parse import parse_qsl, quote, unquote, urlencode

from assay.errors import AssayError, UsageError
from assay.rng import digest
from assay.tasks.data_files import is_hub
from assay.tasks.data_rows import Table, plain_prompt, read_table, without
from assay.tasks.task import SPLITS, Split, Task
from assay.types import Problem, Verdict

PREFIX = "data:"
_KEPT = "/:.-_~ "  # of a path, as it is; all else is quoted as in an address
_VALID = 20  # of a hundred held-out rows, so many are looked at while training


@dataclass(frozen=True)
class Data:
    """A file or data set of the Hub, and how it is read. Its `name` is that of a task, and says all of this."""

    place: str  # an absolute path, or owner/name[:configuration][:split]
    held_out: str = ""  # likewise: its rows are for evaluation, and all of `place` for training
    prompt_column: str = ""  # "": the first of the usual names
    answer_column: str = ""
    system: str = ""  # a system message for rows that have none
    skip_bad_rows: bool = False
    rows: Literal["", "test"] = ""  # test: all rows are for evaluation

    @property
    def name(self) -> str:
        fields = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self)[1:])
        said = {name: "yes" if value is True else value for name, value in fields if value}
        return PREFIX + quote(self.place, safe=_KEPT) + (f"?{urlencode(said, safe='/:')}" if said else "")

    @classmethod
    def of(cls, name: str) -> Data:
        """What a task's name says."""
        path, _, query = name.removeprefix(PREFIX).partition("?")
        said = dict(parse_qsl(query))
        known = sorted({field.name for field in dataclasses.fields(cls)} - {"place"})
        if strange := [key for key in said if key not in known]:
            raise UsageError(f"{name}: data has no '{strange[0]}'; it has {', '.join(known)}.")
        fields: dict[str, Any] = {**said, "skip_bad_rows": "skip_bad_rows" in said}
        return cls(located(unquote(path)), **fields)

    @property
    def label(self) -> str:
        """Short, for titles and folders."""
        return Path(self.place).stem if self.place.startswith("/") else self.place.replace("/", "-").replace(":", "-")


def located(place: str | Path) -> str:
    """A data set of the Hub by its name, a file by its absolute path."""
    text = str(place)
    return text if is_hub(text) else str(Path(text).expanduser().resolve())


def data(place: str | Path, *, held_out: str | Path | None = None, **said: Any) -> Data:
    """Data that a person named, read again from where they are: a file may have changed since this process read it."""
    if not str(place).strip():
        raise UsageError("the name of the data is empty: give a file or a data set of the Hub.")
    tables.cache_clear()
    rows_of.cache_clear()
    return Data(located(place), located(held_out) if held_out else "", **said)


@functools.lru_cache(maxsize=64)
def data_task(name: str) -> Task:
    """The task of this name. Its rows are read when they are asked for."""
    told = Data.of(name)
    return Task(
        name=told.name,
        domain="data",
        summary=f"the rows of {told.place}",
        levels=range(1, 2),
        instance=_none,
        canonical=_none,
        compact=_none,
        natural=_none,
        solve=_none,
        check=_none,
        judge=_judge,
        rows=functools.partial(rows_of, told.name),
    )


def _none(*_: Any) -> NoReturn:
    raise AssayError("rows of a file are problems as they stand: there is nothing to make them from.")


def is_data(name: str) -> bool:
    return name.startswith(PREFIX)


@functools.lru_cache(maxsize=8)
def tables(name: str) -> tuple[Table, ...]:
    """The tables of a task: that of its rows, and that of its held-out rows where these are of another file."""
    told = Data.of(name)
    common = {"task": name, "answer": told.answer_column, "prompt": told.prompt_column, "system": told.system}
    places = [told.place, *([told.held_out] if told.held_out else [])]
    return tuple(read_table(place, skip_bad_rows=told.skip_bad_rows, **common) for place in places)


@functools.lru_cache(maxsize=24)
def rows_of(name: str, split: Split) -> tuple[Problem, ...]:
    """The rows of a split. Without a file of held-out rows, content decides: of ten rows eight train."""
    (table, *held), only = tables(name), Data.of(name).rows
    if held:
        if split == "train":
            return without(table.problems, held[0].problems)
        return tuple(problem for problem in held[0].problems if (_bucket(problem) < _VALID) == (split == "valid"))
    if only:
        return table.problems if split == only else ()
    return tuple(problem for problem in table.problems if _bucket(problem) in SPLITS[split])


def _bucket(problem: Problem) -> int:
    return int(digest("split", "data", plain_prompt(problem)), 16) % 100


def _judge(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """By mathematics, against the answer of the row."""
    from assay.verify.mathematics import judge

    return judge(pairs)


def describe(name: str) -> list[str]:
    """What a person should know of the data before a run begins."""
    table, *held = tables(name)
    columns, file = table.columns, Path(table.place).name
    answer = f"answers of '{columns.answer}'" if columns.answer else "no answers"
    lines = [f"{file}: {table.num_rows} rows; questions of '{columns.prompt}', {answer}"]
    lines += [f"{file}: {note}" for note in table.notes]
    for other in held:
        shared = len(table.problems) - len(rows_of(name, "train"))
        lines.append(f"{Path(other.place).name}: {other.num_rows} held-out rows")
        lines += [f"{Path(other.place).name}: {note}" for note in other.notes]
        if shared:
            lines.append(f"{file}: {shared} rows are among the held-out ones too, and are left out of training")
    counts = {split: len(rows_of(name, split)) for split in SPLITS}
    if not Data.of(name).rows:
        lines.append(f"{file}: {counts['train']} to train on, {counts['valid']} to watch, {counts['test']} to test")
    return lines


def digests(name: str) -> list[str]:
    """Of the rows that a run reads, so that a resumed run can tell whether they are still the same."""
    return [table.digest for table in tables(name)]
