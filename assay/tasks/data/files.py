"""Reads data files (JSONL, JSON, CSV, TSV, parquet) and data sets of the Hub, row by row with line numbers.

A row that cannot be read gives a `Fault` in its place, so that a file is read to its end and all faults are reported.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import decimal
import difflib
import importlib.util
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from assay.errors import ConfigError, DataError, EndpointError, StorageError
from assay.host.files import DEEP, TooDeep, read_bytes, require_regular, require_shallow
from assay.host.tables import rows_of

LARGEST_JSON = 1 << 30  # bytes of a JSON list, which is read as a whole
LARGEST_VALUE = 1 << 28  # bytes up to which a broken JSONL file is checked for being a single JSON value
LONGEST_LINE = 1 << 24  # bytes; a longer line is no row, but a file whose line ends were lost
HUB = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+){0,2}")
MAGIC = {
    b"PAR1": "parquet: rename it to .parquet",
    b"\x1f\x8b": "compressed with gzip: unpack it",
    b"PK\x03\x04": "a zip archive: unpack it",
}
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class FileRow:
    """One row of a file. `line` counts from 1: lines of a text file, rows of any other."""

    line: int
    columns: Mapping[str, Any]  # JSON data


@dataclass(frozen=True)
class Fault:
    """What is wrong with a row. "line 3 " followed by `what` is a sentence: "line 3 is not UTF-8: ..."."""

    line: int
    what: str


Item = FileRow | Fault


def is_hub(place: str) -> bool:
    """Whether a place is a data set of the Hub (`owner/name`,
    `owner/name:split` or `owner/name:configuration:split`) and no file.
    """
    return HUB.fullmatch(place) is not None and not Path(place).exists() and Path(place).suffix not in READERS


def read(place: str) -> Iterator[Item]:
    """The rows of a file or of a data set of the Hub, in order."""
    if not place.startswith("/") and is_hub(place):
        return _hub(place)
    path = Path(place)
    if not path.exists():
        raise _missing(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a file in it ({', '.join(READERS)}).")
    try:
        size = require_regular(path).st_size
    except StorageError as error:
        raise DataError(str(error)) from None
    if path.suffix not in READERS:
        raise DataError(
            f"{path}: a file of rows ends in {', '.join(READERS)}, this one in '{path.suffix}'. Rename or convert it."
        )
    try:
        size = require_regular(path).st_size
    except StorageError as error:
        raise DataError(str(error)) from None
    if not size:
        raise DataError(f"{path} is empty: expected one problem a row.")
    with path.open("rb") as file:
        head = file.read(4)
    for mark, what in MAGIC.items():
        if head.startswith(mark) and path.suffix != ".parquet":
            raise DataError(f"{path} is {what}, and its name ends in '{path.suffix}'.")
    return READERS[path.suffix](path)


def _missing(path: Path) -> DataError:
    folder = path.parent
    there = [p.name for p in folder.iterdir() if p.suffix in READERS] if folder.is_dir() else []
    stems = {Path(name).stem: name for name in there}
    near = difflib.get_close_matches(path.stem, stems, n=1, cutoff=0.5)
    hint = f" Did you mean {folder / stems[near[0]]}?" if near else ""
    return DataError(f"{path}: no such file.{hint} A data set of the Hub is named owner/name or owner/name:split.")


def _lines(path: Path) -> Iterator[tuple[int, str | Fault]]:
    """(number, line) of a text file, without line ends and empty lines. A byte
    order mark at the beginning is dropped.
    """
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 2), b""), 1):
            if number == 1:
                if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
                    raise DataError(f"{path} is UTF-16: save it as UTF-8.")
                line = line.removeprefix(_BOM)
            if (found := _text_of(line.rstrip(b"\r\n"), number)) != "":
                yield number, found
            if len(line) > LONGEST_LINE:
                return


def _text_of(line: bytes, number: int) -> str | Fault:
    if len(line) > LONGEST_LINE:
        return Fault(number, f"has more than {LONGEST_LINE} bytes, and nothing behind it is read: are line ends lost?")
    if b"\0" in line:
        return Fault(number, "holds NUL bytes: this part of the file was never written.")
    if line.startswith(_BOM):
        return Fault(number, "begins with a byte order mark: two files were joined. Remove it.")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        return Fault(number, f"is not UTF-8: byte {line[error.start]:#04x} at {error.start}. Save the file as UTF-8.")
    return text if text.strip() else ""


def _jsonl(path: Path) -> Iterator[Item]:
    _refuse_one_value(path)
    for number, line in _lines(path):
        yield line if isinstance(line, Fault) else _row_of(line, number)


def _refuse_one_value(path: Path) -> None:
    """Raises DataError for a file that is one JSON value over several lines, instead of one fault for each line."""
    first = next((line for _, line in _lines(path) if isinstance(line, str)), "").strip()
    if first[:1] not in ("[", "{") or path.stat().st_size > LARGEST_VALUE:
        return
    with contextlib.suppress(ValueError, RecursionError):
        value = json_value(first)
        if isinstance(value, dict) or any(number > 1 for number, _ in _lines(path)):
            return  # the first line is a value by itself, so faults are reported line by line
    try:
        value = json_value(path.read_bytes().removeprefix(_BOM).decode())
    except (ValueError, RecursionError):
        if first == "{":
            raise DataError(
                f"{path} holds objects that stand over several lines, and a row is a line: write each on one, for "
                f"example with `jq -c . {path.name}`."
            ) from None
        if first == "[":
            raise DataError(f"{path} begins as one JSON list over several lines, and is broken further on.") from None
        return
    if isinstance(value, list):
        raise DataError(
            f"{path} holds one JSON list, and a row of {path.suffix} is a line: rename it to "
            f"{path.with_suffix('.json').name}, which is read as a list."
        )
    inside = [name for name, inner in value.items() if isinstance(inner, list) and inner]
    hint = f"Keep what is under '{inside[0]}', which is a list." if inside else "A row is an object on one line."
    raise DataError(f"{path} holds one JSON object over several lines, not a row a line. {hint}")


def _row_of(line: str, number: int) -> Item:
    try:
        value = json_value(line)
    except json.JSONDecodeError as error:
        return Fault(number, _not_json(line, error))
    except TooDeep:
        return Fault(number, "is nested too deeply to be read.")
    except ValueError as error:
        return Fault(number, f"is not JSON: {error}.")
    if not isinstance(value, dict):
        return Fault(number, f'holds {kind(value)}, not an object such as {{"prompt": ..., "answer": ...}}.')
    return FileRow(number, value)


def json_value(text: str) -> Any:
    """The value of JSON text, read strictly: no NaN, no key twice, no half of a
    surrogate pair, no number beyond a double.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
    except RecursionError:
        raise TooDeep from None
    if text.count("[") + text.count("{") > DEEP:
        require_shallow(value)
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half of a surrogate pair, which is no character") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the key '{_twice(name for name, _ in pairs)}' stands twice in one object")
    return found


def _twice(names: Iterable[str]) -> str | None:
    """The first name that occurs twice; None if there is none."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value; write null")


def _float(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text} is larger than any number that a computer calculates with")
    return number


def _not_json(line: str, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return f"holds more than one JSON value: another begins at character {error.pos + 1}. Write one a line."
    if error.pos >= len(line.rstrip()) or error.msg.startswith("Unterminated string"):
        return "is torn: the JSON ends before it is complete. Was the file cut off?"
    near = line[max(0, error.pos - 10) : error.pos + 10]
    python = " Keys and texts stand in double quotes." if "'" in near else ""
    return f"is not JSON from character {error.pos + 1} on, near {near!r}.{python}"


def _json(path: Path) -> Iterator[Item]:
    """The rows of a .json file: a list of objects. A file with one object on each line is read as JSONL."""
    if next((line for _, line in _lines(path) if isinstance(line, str)), "").lstrip()[:1] != "[":
        yield from _jsonl(path)
        return
    try:
        rows = json_value(read_bytes(path, most=LARGEST_JSON).removeprefix(_BOM).decode())
    except StorageError as error:
        raise DataError(f"{error} Write it as .jsonl, one row a line.") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path} is not JSON from line {error.lineno}, character {error.colno} on.") from None
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}.") from None
    for number, value in enumerate(rows, 1):
        plain = isinstance(value, dict)
        yield FileRow(number, value) if plain else Fault(number, f"is {kind(value)}, not an object.")


def _csv(path: Path) -> Iterator[Item]:
    """The rows of a CSV or TSV file. The first line names the columns, and an empty cell is null."""
    faults: list[Item] = [line for _, line in _lines(path) if isinstance(line, Fault)]
    if faults:
        yield from faults
        return
    csv.field_size_limit(LONGEST_LINE)
    with path.open(encoding="utf-8-sig", newline="") as text:
        yield from _cells(path, text)


def _cells(path: Path, text: Iterable[str]) -> Iterator[Item]:
    reader = csv.reader(text, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
    names = next(reader, [])
    _check_header(path, names)
    line = reader.line_num + 1
    try:
        for cells in reader:
            if cells and len(cells) != len(names):
                yield Fault(line, f"has {len(cells)} cells, and the header {len(names)}: quote cells that hold commas.")
            elif cells:
                yield FileRow(line, {name: cell or None for name, cell in zip(names, cells)})
            line = reader.line_num + 1
    except csv.Error as error:
        open_quote = "a quote is opened and never closed" if "unexpected end" in str(error) else str(error)
        yield Fault(line, f"is not CSV: {open_quote}.")


def _check_header(path: Path, names: list[str]) -> None:
    if (twice := _twice(names)) is not None:
        raise DataError(f"{path}: the header names the column '{twice}' twice.")
    if len(names) == 1 and ";" in names[0]:
        raise DataError(f"{path}: the header {names[0][:60]!r} is divided by semicolons: divide cells by commas.")


def _parquet(path: Path) -> Iterator[Item]:
    try:
        yield from _records(rows_of(path))
    except StorageError as error:
        raise DataError(str(error)) from error


def _hub(place: str) -> Iterator[Item]:
    """The rows of a data set of the Hub, which the package `datasets` downloads into its cache."""
    name, *more = place.split(":")
    if importlib.util.find_spec("datasets") is None:
        raise ConfigError(f"{place}: reading from the Hub needs the package datasets: `pip install 'assay-rl[hub]'`.")
    load = importlib.import_module("datasets").load_dataset
    configuration, split = more[0] if len(more) == 2 else None, more[-1] if more else "train"
    try:
        found = load(name, configuration, split=split)
    except (ValueError, FileNotFoundError) as error:
        raise DataError(f"{place}: {str(error).strip()} A data set is named owner/name:configuration:split.") from None
    except OSError as error:
        raise EndpointError(f"{place} cannot be read from the Hub: {error}. Download it and name the file.") from None
    yield from _records(found)


def _records(rows: Iterable[Mapping[str, Any]]) -> Iterator[Item]:
    for number, row in enumerate(rows, 1):
        yield FileRow(number, {str(name): plain(value) for name, value in row.items()})


UNREADABLE = object()  # in place of bytes, pictures or sounds, which are no JSON data


def plain(value: Any) -> Any:
    """A value of a typed table as JSON data: times become text, and NaN becomes null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, Mapping):
        inner = {str(name): plain(item) for name, item in value.items()}
        return UNREADABLE if UNREADABLE in inner.values() else inner
    if isinstance(value, list | tuple):
        items = [plain(item) for item in value]
        return UNREADABLE if any(item is UNREADABLE for item in items) else items
    return UNREADABLE


def kind(value: Any) -> str:
    """The JSON type of a value, in words for a sentence."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return {str: "text", list: "a list", dict: "an object"}.get(type(value), type(value).__name__)


READERS: dict[str, Callable[[Path], Iterator[Item]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
}
