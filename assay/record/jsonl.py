"""Journals: JSON lines that only grow, and that a resume cuts back to where its checkpoint stands.

One record is one O_APPEND write that ends in a newline. A record that the disk refuses leaves no half behind; it waits
in memory and is written before the next one.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import StorageError, UsageError
from assay.host.files import parse_json, require_regular
from assay.record import disk
from assay.record.manifest import plain

log = logging.getLogger(__name__)

LONGEST = 64 << 20  # bytes of a record: an evaluation of thousands of problems takes a hundredth
_BLOCK = 1 << 20
PATIENCE = 3  # consecutive failures after which the run stops


def line(record: Mapping[str, Any]) -> bytes:
    """The record as strict JSON with `step` first; a number that is not finite becomes null."""
    if not isinstance(record.get("step"), int):
        raise UsageError(f"a record wants an integer `step`, and got {record.get('step')!r}.")
    body = {"step": record["step"], **record}
    return json.dumps(plain(body), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class Journal:
    """The one writer of a file of JSON lines. `orphans` receives what is cut off.

    `digest` is the SHA-256 of all that is in the file, as it was read when it was opened and as it was written since.
    """

    def __init__(self, path: Path, *, orphans: Path) -> None:
        self.path, self.orphans = path, orphans
        self.waiting: list[bytes] = []
        self.failures = 0
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            require_regular(path)
            self._cut_torn_tail()
            self._sha = sha_of(self.path)
        except BaseException:
            self.close()
            raise

    def append(self, record: Mapping[str, Any]) -> bool:
        """False if the record waits for a better disk; StorageError at the third failure in a row."""
        self.waiting.append(line(record))
        try:
            self.flush()
        except OSError as error:
            self.failures += 1
            log.warning("%s: %d records wait in memory: %s", self.path, len(self.waiting), error)
            if self.failures >= PATIENCE:
                raise StorageError(
                    f"{self.path} could not be written {self.failures} times in a row: {error}. "
                    "Free some space, then `assay resume`."
                ) from error
            return False
        return True

    def flush(self) -> None:
        """Write what waits. OSError leaves the file as long as whole records reach."""
        while self.waiting:
            length = self.offset
            try:
                disk.write(self._fd, self.waiting[0], point="jsonl")
            except OSError:
                os.ftruncate(self._fd, length)
                raise
            self._sha.update(self.waiting.pop(0))
        self.failures = 0

    @property
    def offset(self) -> int:
        return os.fstat(self._fd).st_size

    @property
    def digest(self) -> str:
        return self._sha.hexdigest()

    def sync(self) -> int:
        """Force all records to the disk; the offset after them."""
        self.flush()
        disk.fsync(self._fd, point="jsonl")
        return self.offset

    def cut(self, offset: int) -> None:
        """Keep the first `offset` bytes; the rest goes to the orphans first."""
        self.waiting.clear()
        length = self.offset
        if offset > length:
            raise StorageError(
                f"{self.path} has {length} bytes, and its checkpoint was saved after {offset}: records are missing. "
                "Put the file back, or resume from an earlier step."
            )
        if offset < length:
            target = disk.free_name(self.orphans, self.path.stem, ".jsonl")
            disk.replace_with(target, self._blocks(offset), point="orphan")
            disk.truncate(self._fd, offset, point="jsonl")
            disk.fsync(self._fd, point="jsonl")
            self._sha = sha_of(self.path)

    def _blocks(self, offset: int) -> Iterator[bytes]:
        """The bytes from there on, a part at a time."""
        while block := os.pread(self._fd, _BLOCK, offset):
            yield block
            offset += len(block)

    def close(self) -> None:
        os.close(self._fd)

    def _cut_torn_tail(self) -> None:
        length = self.offset
        if not length:
            return
        with mmap.mmap(self._fd, length, access=mmap.ACCESS_READ) as whole:
            end = whole.rfind(b"\n") + 1
        if end < length:
            log.warning("%s ends in %d bytes of an unfinished record; moved to orphans", self.path, length - end)
            self.cut(end)


def sha_of(path: Path, length: int | None = None) -> Any:
    """The SHA-256, to be continued, of the first `length` bytes of a file, or of all that it has."""
    total, left = hashlib.sha256(), path.stat().st_size if length is None else length
    with path.open("rb") as file:
        while left and (block := file.read(min(left, _BLOCK))):
            total.update(block)
            left -= len(block)
    return total


def read(path: Path, *, contiguous: bool = False, skip_damaged: bool = False) -> list[dict[str, Any]]:
    """All records. Steps never fall, and with `contiguous` each is its predecessor's plus one.

    A damaged line is a StorageError with its number, unless `skip_damaged`. A last line without a newline is an
    append in progress and is left out.
    """
    records: list[dict[str, Any]] = []
    for number, result in _lines(path):
        previous = records[-1]["step"] if records else None
        problem = result if isinstance(result, str) else _order_problem(previous, result["step"], contiguous)
        if problem is None and not isinstance(result, str):
            records.append(result)
        elif skip_damaged:
            log.warning("%s line %d: %s", path, number, problem)
            if not isinstance(result, str) and (previous is None or result["step"] > previous):
                records.append(result)  # a gap, which the damaged line before it explains
        else:
            raise StorageError(f"{path} line {number} is damaged: {problem}.")
    return records


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Line numbers with a record, or with a sentence about what is wrong."""
    require_regular(path)
    with path.open("rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), start=1):
            if len(raw) > LONGEST:
                yield number, f"longer than {LONGEST:,} bytes; nothing behind it is read"
                return
            if not raw.endswith(b"\n"):
                return
            try:
                record = parse_json(raw.decode())  # decoded here: json itself lets a byte order mark pass
            except ValueError as error:
                yield number, f"not JSON ({error})"
                continue
            if isinstance(record, dict) and isinstance(record.get("step"), int):
                yield number, _SHAPES.get(path.stem, lambda record: None)(record) or record
            else:
                yield number, "not an object with an integer `step`"


def _of_metrics(record: Mapping[str, Any]) -> str | None:
    """A measure, which has a slash in its name, that is no number."""
    odd = next((name for name, value in record.items() if "/" in name and not _is_number(value)), None)
    return None if odd is None else f"{odd} is {record[odd]!r:.60}, and no number"


def _of_evals(record: Mapping[str, Any]) -> str | None:
    """What a reader of held-out scores could not read."""
    counts = ("problems", "samples", "invalid", "length", "truncated")
    odd = [name for name in counts if not _is_number(record.get(name))]
    odd += [name for name in ("pass", "scores") if not _are_estimates(record.get(name) or {})]
    odd += ["bank"] if not isinstance(record.get("bank") or {}, dict) else []
    odd += ["pass"] if not odd and not all(k.isdecimal() for k in record.get("pass") or {}) else []
    return f"{odd[0]} is {record.get(odd[0])!r:.60}, and no part of an evaluation" if odd else None


def _are_estimates(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, dict) and isinstance(one.get("mean"), int | float) and all(map(_is_number, one.values()))
        for one in value.values()
    )


def _is_number(value: Any) -> bool:
    """Null is a number that was not finite."""
    return value is None or isinstance(value, int | float)


_SHAPES = {"metrics": _of_metrics, "evals": _of_evals}


def _order_problem(previous: int | None, step: int, contiguous: bool) -> str | None:
    if previous is None:
        return f"the first step is {step}, not 0 or 1" if contiguous and step not in (0, 1) else None
    if contiguous and step != previous + 1:
        return f"step {step} follows step {previous}"
    return f"step {step} follows the later step {previous}" if step < previous else None
