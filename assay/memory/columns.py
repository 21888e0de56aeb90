"""Episodes as columns and back, bit for bit: how a checkpoint stores replay buffers and queues.

A table has a column for each field of its records. A field that holds records has a table of its own below. A problem,
text or array that several rows share is stored once, and so is a value that is the same in every row. Columns are
integer arrays: floats are stored as their bits, so that NaN, which stands for an unknown log-prob, survives unchanged.
The column `schema` says what the other columns mean.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.errors import StorageError
from assay.memory.episodes import problem_of, unknown_hint
from assay.prompt import Prompt
from assay.types import Episode, Problem, Request, Reward, Segment, Verdict

FILE = "memory.safetensors"  # the file of a checkpoint that has the columns

Columns = dict[str, np.ndarray]
RECORDS: dict[str, type] = {kind.__name__: kind for kind in (Episode, Request, Segment, Reward, Verdict)}
NUMBERS: dict[type, str] = {bool: "u1", int: "<i8", float: "<f8"}
BITS = {"<f8": "<u8"}


def to_columns(kept: Mapping[str, Sequence[Episode]]) -> Columns:
    """The columns of the episodes of all stores, one store after the other."""
    writer = _Writer()
    writer.schema["places"] = {place: len(episodes) for place, episodes in kept.items()}
    writer.table("Episode", "", [episode for episodes in kept.values() for episode in episodes])
    return writer.finished()


def of_columns(columns: Mapping[str, np.ndarray]) -> dict[str, tuple[Episode, ...]]:
    """The inverse of `to_columns`."""
    try:
        reader = _Reader(columns)
        episodes = iter(reader.table(""))
        return {place: tuple(next(episodes) for _ in range(count)) for place, count in reader.schema["places"].items()}
    except (KeyError, IndexError, ValueError, TypeError, StopIteration) as error:
        raise StorageError(f"cannot read episodes from these columns: {type(error).__name__}: {error}.") from error


class _Writer:
    """Collects the columns of a table and of the tables below, and their schema."""

    def __init__(self) -> None:
        self.columns: Columns = {}
        self.schema: dict[str, Any] = {"version": 1, "tables": {}}

    def table(self, kind: str, path: str, records: Sequence[Any]) -> None:
        fields = [field.name for field in dataclasses.fields(RECORDS[kind])]
        kinds = {}
        for name in fields:
            kinds[name] = self._column(f"{path}/{name}", [getattr(record, name) for record in records])
        self.schema["tables"][path] = {"of": kind, "rows": len(records), "fields": kinds}

    def _column(self, path: str, values: Sequence[Any]) -> str:
        """Writes the column of a field and returns its kind, which follows from the types of the values."""
        types = {type(value) for value in values}
        if len(types) == 1 and (number := NUMBERS.get(next(iter(types)), "")):
            self.columns[path] = _short(np.array(values, number).view(BITS.get(number, number)))
            return number
        not_none = types - {type(None)}
        if not_none and not_none <= {np.ndarray}:
            return self._arrays(path, values)
        if not_none == {Problem}:
            return self._distinct(path, values, "problem", to_text)
        if not_none == {Prompt}:
            return self._distinct(path, values, "prompt", to_text)
        if len(not_none) == 1 and (name := next(iter(not_none)).__name__) in RECORDS:
            return self._below(path, name, [[] if value is None else [value] for value in values], "record")
        items = {type(item) for value in values if isinstance(value, tuple) for item in value}
        if len(items) == 1 and (name := next(iter(items)).__name__) in RECORDS:
            return self._below(path, name, values, "records")
        return self._distinct(path, values, "text", to_text)

    def _below(self, path: str, name: str, members: Sequence[Sequence[Any]], kind: str) -> str:
        self.columns[f"{path}:count"] = _short(np.array([len(items) for items in members], "<i4"))
        self.table(name, path, [item for items in members for item in items])
        return kind

    def _distinct(self, path: str, values: Sequence[Any], kind: str, encode: Callable[[Any], str]) -> str:
        """Writes a column of texts: each different text once, and for each row which text it has. An object that
        several rows share is encoded only once.
        """
        texts: dict[int, str] = {}
        for value in values:
            if id(value) not in texts:
                texts[id(value)] = encode(value)
        places = {text: place for place, text in enumerate(dict.fromkeys(texts.values()))}
        self.columns[f"{path}:which"] = _short(np.array([places[texts[id(value)]] for value in values], "<i4"))
        self._bytes(path, [text.encode("utf-8", "surrogatepass") for text in places])
        return kind

    def _arrays(self, path: str, values: Sequence[np.ndarray | None]) -> str:
        """Writes a column of arrays of any type and shape. An array object that several rows share is stored once."""
        distinct = list({id(value): value for value in values if value is not None}.values())
        places = {id(value): place for place, value in enumerate(distinct)}
        kinds: dict[tuple[str, tuple[int, ...]], int] = {}
        forms = [kinds.setdefault((a.dtype.newbyteorder("<").str, a.shape[1:]), len(kinds)) for a in distinct]
        which = [-1 if value is None else places[id(value)] for value in values]
        self.columns[f"{path}:which"] = _short(np.array(which, "<i4"))
        self.columns[f"{path}:form"] = _short(np.array(forms, "<u2"))
        little = (np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for a in distinct)
        self._bytes(path, [a.reshape(-1).view("u1") for a in little])
        self.schema.setdefault("forms", {})[path] = [[dtype, *shape] for dtype, shape in kinds]
        return "array"

    def _bytes(self, path: str, pieces: Sequence[bytes | np.ndarray]) -> None:
        self.columns[f"{path}:end"] = np.cumsum([len(piece) for piece in pieces], dtype="<i8")
        flat = [np.frombuffer(piece, "u1") if isinstance(piece, bytes) else piece for piece in pieces]
        self.columns[path] = np.concatenate([np.zeros(0, "u1"), *flat])

    def finished(self) -> Columns:
        text = json.dumps(self.schema, separators=(",", ":")).encode()
        return {name.lstrip("/"): column for name, column in self.columns.items()} | {
            "schema": np.frombuffer(text, "u1")
        }


def _short(column: np.ndarray) -> np.ndarray:
    """The column, cut to one row if all rows are equal."""
    return column[:1] if len(column) and (column == column[0]).all() else column


def _long(column: np.ndarray, rows: int) -> list[Any]:
    """The column at its full length: the inverse of `_short`."""
    return column.tolist() if len(column) == rows else column.tolist() * rows


class _Reader:
    def __init__(self, columns: Mapping[str, np.ndarray]) -> None:
        self.columns = columns
        self.schema = json.loads(columns["schema"].tobytes())

    def table(self, path: str) -> list[Any]:
        """The records of a table. A field that the type no longer has is skipped; a new field has its default."""
        about = self.schema["tables"][path]
        kind = RECORDS[about["of"]]
        known = {field.name for field in dataclasses.fields(kind)}
        names = [name for name in about["fields"] if name in known]
        columns = [self._column(f"{path}/{name}", about["fields"][name], about["rows"]) for name in names]
        rows = zip(*columns, strict=True) if columns else ((),) * about["rows"]
        records = [kind(**dict(zip(names, row, strict=True))) for row in rows]
        if "hinted" in about["fields"]:  # earlier versions only say that a request was, and not with what
            was = self._column(f"{path}/hinted", about["fields"]["hinted"], about["rows"])
            return [unknown_hint(record) if hinted else record for record, hinted in zip(records, was, strict=True)]
        return records

    def _column(self, path: str, kind: str, rows: int) -> Iterable[Any]:
        name = path.lstrip("/")
        if kind in NUMBERS.values():
            values = _long(self.columns[name].view(kind), rows)
            return map(bool, values) if kind == NUMBERS[bool] else values
        if kind in ("record", "records"):
            return self._below(path, _long(self.columns[f"{name}:count"], rows), several=kind == "records")
        which, pieces = _long(self.columns[f"{name}:which"], rows), self._pieces(name)
        if kind == "array":
            forms = [(np.dtype(dtype), shape) for dtype, *shape in self.schema["forms"][path]]
            formed = zip(pieces, _long(self.columns[f"{name}:form"], len(pieces)), strict=True)
            arrays = [piece.view(forms[form][0]).reshape(-1, *forms[form][1]) for piece, form in formed]
            return [None if index < 0 else arrays[index] for index in which]
        decode = DECODES.get(kind, tuples)
        values = [decode(json.loads(piece.tobytes().decode("utf-8", "surrogatepass"))) for piece in pieces]
        return [values[index] for index in which]

    def _below(self, path: str, counts: Sequence[int], *, several: bool) -> Iterable[Any]:
        items = iter(self.table(path))
        for count in counts:
            found = tuple(next(items) for _ in range(count))
            yield found if several else (found[0] if found else None)

    def _pieces(self, name: str) -> list[np.ndarray]:
        """The pieces of a column of bytes, as copies: a view would keep the whole column in memory."""
        ends = self.columns[f"{name}:end"].tolist()
        return [self.columns[name][start:end].copy() for start, end in zip([0, *ends], ends, strict=False)]


def prompt_of(data: Mapping[str, Any] | None) -> Prompt | None:
    """The prompt with these fields, as JSON has them."""
    return None if data is None else Prompt.of_data(data)


DECODES: Mapping[str, Callable[[Any], Any]] = {"problem": problem_of, "prompt": prompt_of}
"""Kind of a column of texts -> what its JSON becomes; others become tuples."""


def to_text(value: Any) -> str:
    """The JSON text of a value that contains no arrays."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def tuples(value: Any) -> Any:
    """The value with every list turned back into a tuple: JSON has no tuples."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value
