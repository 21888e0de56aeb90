"""Files of problems as a task: `data:/path/to/file.jsonl`, with what was said about reading it behind a `?`.

Several files are one set. Equal content is one problem, wherever the file lies; what reads the same is in one split.
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
from assay.tasks.data.files import is_hub
from assay.tasks.data.rows import Table, plain_prompt, without
from assay.tasks.data.several import names_of, read_set
from assay.tasks.task import SPLITS, Split, Task
from assay.types import Problem, Verdict

PREFIX = "data:"
_KEPT = "/:.-_~ "  # of a path, as it is; all else is quoted as in an address
_NAMED = 3  # files of a set that a title names
_VALID = 20  # of a hundred held-out rows, so many are looked at while training


@dataclass(frozen=True)
class Data:
    """Files or data sets of the Hub, and how they are read. Its `name` is that of a task, and says all of this."""

    places: tuple[str, ...]  # one set; each an absolute path, or owner/name[:configuration][:split]
    held_out: tuple[str, ...] = ()  # likewise: their rows are for evaluation, and all of `places` for training
    prompt_column: str = ""  # "": the first of the usual names
    answer_column: str = ""
    system: str = ""  # a system message for rows that have none: of runs that began before it was a setting of the chat
    skip_bad_rows: bool = False
    answer_from_messages: bool = False  # conversations end with the assistant, whose last message is the answer
    rows: Literal["", "test"] = ""  # test: all rows are for evaluation

    @property
    def name(self) -> str:
        first, *others = self.places
        said = [*(("also", place) for place in others), *(("held_out", place) for place in self.held_out)]
        fields = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self)[2:])
        said += [(name, "yes" if value is True else value) for name, value in fields if value]
        return PREFIX + quote(first, safe=_KEPT) + (f"?{urlencode(said, safe='/:')}" if said else "")

    @classmethod
    def of(cls, name: str) -> Data:
        """What a task's name says."""
        path, _, query = name.removeprefix(PREFIX).partition("?")
        said = parse_qsl(query)
        known = sorted({"also", *(field.name for field in dataclasses.fields(cls))} - {"places"})
        if strange := [key for key, _ in said if key not in known]:
            raise UsageError(f"{name}: data has no '{strange[0]}'; it has {', '.join(known)}.")
        fields: dict[str, Any] = {key: value for key, value in said if key not in ("also", "held_out")}
        fields |= {flag: flag in fields for flag in ("skip_bad_rows", "answer_from_messages")}
        also, held_out = (tuple(located(place) for key, place in said if key == kind) for kind in ("also", "held_out"))
        return cls((located(unquote(path)), *also), held_out, **fields)

    @property
    def label(self) -> str:
        """Short, for titles and folders."""
        first, *others = map(_stem, self.places)
        return "+".join([first, *others] if len(others) < _NAMED else [first, f"{len(others)}-more"])


def _stem(place: str) -> str:
    return Path(place).stem if place.startswith("/") else place.replace("/", "-").replace(":", "-")


def located(place: str | Path) -> str:
    """A data set of the Hub by its name, a file by its absolute path."""
    text = str(place)
    if not text.strip():
        raise UsageError("the name of the data is empty: give a file or a data set of the Hub.")
    return text if is_hub(text) else str(Path(text).expanduser().resolve())


Places = str | Path | Sequence[str | Path]
"""One file or data set of the Hub, or several that are one set."""


def all_located(places: Places | None) -> tuple[str, ...]:
    listed = [] if places is None else [places] if isinstance(places, str | Path) else places
    return tuple(located(place) for place in listed)


def data(places: Places, *, held_out: Places | None = None, **said: Any) -> Data:
    """Data that a person named, read again from where they are: a file may have changed since this process read it."""
    tables.cache_clear()
    rows_of.cache_clear()
    if not (found := all_located(places)):
        raise UsageError("no data: name a file or a data set of the Hub.")
    if said.get("answer_column") and said.get("answer_from_messages"):
        raise UsageError("--answer-column and --answer-from-messages name two places for the answer: leave one out.")
    return Data(found, all_located(held_out), **said)


@functools.lru_cache(maxsize=64)
def data_task(name: str) -> Task:
    """The task of this name. Its rows are read when they are asked for."""
    told = Data.of(name)
    return Task(
        name=told.name,
        domain="data",
        summary=f"the rows of {', '.join(told.places)}",
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
    """The tables of a task: that of its rows, and that of its held-out rows where these are of other files."""
    told = Data.of(name)
    common: dict[str, Any] = {"task": name, "prompt": told.prompt_column, "answer": told.answer_column}
    sets = [told.places, *([told.held_out] if told.held_out else [])]
    common |= {"system": told.system, "skip_bad_rows": told.skip_bad_rows, "split": told.answer_from_messages}
    return tuple(read_set(places, **common) for places in sets)


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
    from assay.verifiers.mathematics.verdicts import judge

    return judge(pairs)


def content(problem: Problem) -> str:
    """A digest of what is asked: equal for rows that read the same, in whatever file."""
    return digest("content", plain_prompt(problem))


def where(problem: Problem) -> str:
    """A row as a person finds it: `line 7 of rows`, and of several files `line 7 of b.jsonl`."""
    file, _, line = str(problem.spec["row"]).rpartition(":")
    return f"line {line} of {file or Data.of(problem.task).label}"


def describe(name: str) -> list[str]:
    """What a person should know of the data before a run begins."""
    table, *held = tables(name)
    columns, file = table.columns, ", ".join(names_of(table.places))
    answer = f"answers of '{columns.answer}'" if columns.answer else "no answers"
    lines = [f"{file}: {table.num_rows} rows; questions of '{columns.prompt}', {answer}"]
    lines += [f"{file}: {note}" for note in table.notes]
    for other in held:
        shared, their = len(table.problems) - len(rows_of(name, "train")), ", ".join(names_of(other.places))
        lines.append(f"{their}: {other.num_rows} held-out rows")
        lines += [f"{their}: {note}" for note in other.notes]
        if shared:
            lines.append(f"{file}: {shared} rows are among the held-out ones too, and are left out of training")
    counts = {split: len(rows_of(name, split)) for split in SPLITS}
    if not Data.of(name).rows:
        lines.append(f"{file}: {counts['train']} to train on, {counts['valid']} to watch, {counts['test']} to test")
    return lines


def digests(name: str) -> list[str]:
    """Of the rows that a run reads, a file each, so that a resumed run can tell whether they are still the same."""
    return [digest for table in tables(name) for digest in table.digests]
