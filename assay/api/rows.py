"""Rows that a program holds in memory, as a file: its name is a digest of its content, so that the same rows are the
same file, a run that was given them can be resumed, and its `run.toml` repeats it.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.api.given import Data, article, kept_in, kind_of, library_of
from assay.errors import DataError, UsageError
from assay.record import disk
from assay.rng import digest

FORM = 'data=[{"prompt": "2 + 3 =", "answer": "5"}, ...]'
HOLDS = "Rows hold text, numbers, true or false, None, and lists and dictionaries of these."
MISSING = ("NAType", "NaTType")  # what pandas has in place of a value that is not there


def places(data: Data | None, name: str = "data") -> tuple[str, ...]:
    """Where the rows of an argument lie: files and names of the Hub as they are, and rows in memory written down.

    places([{"prompt": "2 + 3 =", "answer": "5"}])  # (".../given/rows-0a1b2c3d4e5f6071.jsonl",)
    """
    if data is None:
        return ()
    if isinstance(data, str | os.PathLike):
        return (os.fspath(data),)
    if library_of(data) not in ("", "numpy") or _is_rows(data):
        return (str(kept(data, name)),)
    if isinstance(data, Sequence) and len(data):
        return tuple(place for item in data for place in places(_several(item, name), name))
    raise UsageError(_refused(data, name))


def _several(item: Any, name: str) -> Data:
    """One of several places or sets of rows."""
    if isinstance(item, str | os.PathLike) or library_of(item) or _is_rows(item):
        return item
    raise UsageError(_refused(item, name))


def _is_rows(data: object) -> bool:
    return isinstance(data, Sequence) and len(data) > 0 and isinstance(data[0], Mapping)


def _refused(data: object, name: str) -> str:
    """What is wrong with an argument that is neither a place nor rows."""
    takes = f"{name} takes a file, a name of the Hub, a list of rows, a datasets.Dataset or a data frame"
    if isinstance(data, Sequence) and not len(data):
        return f"{name} is empty: a list of rows is {FORM}."
    if isinstance(data, Mapping):
        columns = all(isinstance(value, list) for value in data.values())
        how = "[dict(zip(data, row)) for row in zip(*data.values())]" if columns else "[row], or list(data.values())"
        return f"{takes}; it came as one dictionary of {len(data)} keys. As a list of rows: {how}."
    if isinstance(data, Iterator):
        return f"{takes}; {article(data)} can be read once only: give list(...) of it."
    return f"{takes}, such as {FORM}, and not {article(data)}."


def kept(data: Any, name: str = "data") -> Path:
    """The file that holds these rows, written if it is not there."""
    content = b"".join(_lines(records(data, name), name))
    if not content:
        raise DataError(f"{name} has no rows.")
    path = kept_in() / f"rows-{digest(content)}.jsonl"
    with disk.storage_errors(f"writing the rows of {name}"):
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            disk.replace(path, content, point="given")
    return path


def records(data: Any, name: str = "data") -> Iterable[Mapping[str, Any]]:
    """The rows of a list, a data set or a frame, as dictionaries."""
    kind, library = kind_of(data), library_of(data)
    if library == "pandas" and kind == "DataFrame":
        if not data.columns.is_unique:
            raise DataError(f"{name} has two columns of one name: {', '.join(map(str, data.columns))}.")
        return data.to_dict("records")
    if library == "polars" and kind == "DataFrame":
        return data.to_dicts()
    if library == "datasets" and kind == "Dataset":
        return data
    if library == "pyarrow" and kind == "Table":
        return data.to_pylist()
    if library:
        raise UsageError(f"{name} is {article(data)}: {_instead(library, kind, data)}.")
    return data


def _instead(library: str, kind: str, data: Any) -> str:
    """What to give in place of an object of a library that is no table of rows."""
    if "DatasetDict" in kind:
        splits = list(data)
        held_out = f", eval_data=ds[{splits[1]!r}]" if len(splits) > 1 else ""
        return f"name its splits: data=ds[{splits[0]!r}]{held_out}" if splits else "it is empty"
    return {
        "IterableDataset": "it is a stream, which may never end: give list(ds.take(1000))",
        "LazyFrame": "give frame.collect()",
        "Series": "give a frame, with a column for the questions and one for the answers",
    }.get(kind, f"{FORM} is a list of rows")


def _lines(rows: Iterable[Mapping[str, Any]], name: str) -> Iterator[bytes]:
    """The rows as JSON lines with columns in the order of their names, so that equal rows give equal bytes."""
    for number, row in enumerate(rows):
        place = f"{name}: row {number} (the first is row 0)"
        if not isinstance(row, Mapping):
            raise DataError(f"{place} is {article(row)}, and a row is a dictionary such as {FORM[6:-6]}.")
        if strange := next((column for column in row if not isinstance(column, str)), None):
            raise DataError(f"{place} has a column {strange!r}, {article(strange)}: names of columns are text.")
        try:
            yield _encoded({key: _plain(row[key], f"{place}, column {key!r}") for key in sorted(row)}, place)
        except RecursionError:
            raise DataError(f"{place} is nested too deeply.") from None


def _encoded(columns: Mapping[str, Any], place: str) -> bytes:
    try:
        return json.dumps(columns, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        raise DataError(f"{place} holds half of a surrogate pair, which is no character.") from None


def _plain(value: Any, place: str) -> Any:
    """A value as JSON data: times become text, a missing number is null. Refuses what a file of rows cannot hold."""
    if type(value).__name__ in MISSING:
        return None
    if value is None or type(value) in (str, bool, int):
        return value
    if library_of(value) == "numpy":  # a scalar, or an array, which some libraries have in place of a list
        return _plain(value.tolist(), place)
    if isinstance(value, float):
        if math.isinf(value):
            raise DataError(f"{place} is infinite, and no file of rows can hold that.")
        return None if math.isnan(value) else float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {_key(key, place): _plain(inner, f"{place}[{key!r}]") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, f"{place}[{i}]") for i, inner in enumerate(value)]
    if isinstance(value, str | int):  # of a class of its own, such as an enumeration of texts
        return str.__str__(value) if isinstance(value, str) else int(value)
    raise DataError(f"{place} is {article(value)}. {HOLDS}")


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise DataError(f"{place} has a key {key!r}, {article(key)}: keys are text.")
    return key
