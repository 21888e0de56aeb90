"""Journals: JSON lines that only grow, and that a resume cuts back to where its checkpoint stands.

One record is one O_APPEND write that ends in a newline. A record that the disk refuses leaves no half behind; it waits
in memory and is written before the next one.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import StorageError, UsageError
from assay.record import disk
from assay.record.manifest import plain

log = logging.getLogger(__name__)

PATIENCE = 3  # consecutive failures after which the run stops


def line(record: Mapping[str, Any]) -> bytes:
    """The record as strict JSON with `step` first; a number that is not finite becomes null."""
    if not isinstance(record.get("step"), int):
        raise UsageError(f"a record wants an integer `step`, and got {record.get('step')!r}.")
    body = {"step": record["step"], **record}
    return json.dumps(plain(body), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class Journal:
    """The one writer of a file of JSON lines. `orphans` receives what is cut off."""

    def __init__(self, path: Path, *, orphans: Path) -> None:
        self.path, self.orphans = path, orphans
        self.waiting: list[bytes] = []
        self.failures = 0
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._cut_torn_tail()

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
            self.waiting.pop(0)
        self.failures = 0

    @property
    def offset(self) -> int:
        return os.fstat(self._fd).st_size

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
            tail = os.pread(self._fd, length - offset, offset)
            disk.replace(disk.free_name(self.orphans, self.path.stem, ".jsonl"), tail, point="orphan")
            disk.truncate(self._fd, offset, point="jsonl")
            disk.fsync(self._fd, point="jsonl")

    def close(self) -> None:
        os.close(self._fd)

    def _cut_torn_tail(self) -> None:
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            log.warning("%s ends in %d bytes of an unfinished record; moved to orphans", self.path, len(data) - end)
            self.cut(end)


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
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                return
            try:
                record = json.loads(raw.decode())  # decoded here: json itself lets a byte order mark pass
            except ValueError as error:
                yield number, f"not JSON ({error})"
                continue
            if isinstance(record, dict) and isinstance(record.get("step"), int):
                yield number, record
            else:
                yield number, "not an object with an integer `step`"


def _order_problem(previous: int | None, step: int, contiguous: bool) -> str | None:
    if previous is None:
        return f"the first step is {step}, not 0 or 1" if contiguous and step not in (0, 1) else None
    if contiguous and step != previous + 1:
        return f"step {step} follows step {previous}"
    return f"step {step} follows the later step {previous}" if step < previous else None
