"""Journals: files of JSON lines that only grow, until a resume cuts them back to the length its checkpoint holds.

One record is written by one O_APPEND write that ends in a newline. If the disk fails, the half-written record is cut
off; it waits in memory and is written before the next one.
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

LONGEST = 64 << 20  # bytes of a record; an evaluation of thousands of problems has a hundredth of that
_BLOCK = 1 << 20
PATIENCE = 3  # failures in a row after which the run stops


def line(record: Mapping[str, Any]) -> bytes:
    """The record as strict JSON with `step` first; a number that is not finite becomes null."""
    if not isinstance(record.get("step"), int):
        raise UsageError(f"a record needs an integer `step`, not {record.get('step')!r}.")
    body = {"step": record["step"], **record}
    return json.dumps(plain(body), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class Journal:
    """The writer of one journal. Records that are cut off are written to a file in the folder `orphans`.

    journal = Journal(Path("runs/first/metrics.jsonl"), orphans=Path("runs/first/orphans"))
    journal.append({"step": 1, "reward/mean": 0.4})

    `digest` is the SHA-256 of the whole file: of its content when it was opened and of all records written since.
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
        """Appends a record. False if the disk failed and the record waits; StorageError if it failed three times."""
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
        """Writes the records that wait. After an OSError the file still ends with a whole record."""
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
        """Forces all records to the disk and returns the length of the file."""
        self.flush()
        disk.fsync(self._fd, point="jsonl")
        return self.offset

    def cut(self, offset: int) -> None:
        """Keeps the first `offset` bytes of the file; the rest is copied to the folder `orphans` first."""
        self.waiting.clear()
        length = self.offset
        if offset > length:
            raise StorageError(
                f"{self.path} has {length} bytes, but had {offset} when the checkpoint was saved: records are missing. "
                "Put the original file back, or resume from an earlier step."
            )
        if offset < length:
            target = disk.free_name(self.orphans, self.path.stem, ".jsonl")
            disk.replace_with(target, self._blocks(offset), point="orphan")
            disk.truncate(self._fd, offset, point="jsonl")
            disk.fsync(self._fd, point="jsonl")
            self._sha = sha_of(self.path)

    def _blocks(self, offset: int) -> Iterator[bytes]:
        """The bytes of the file from `offset` on, in blocks."""
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
    """A hash object that has read the first `length` bytes of a file, or the whole file; it can be updated further."""
    total, left = hashlib.sha256(), path.stat().st_size if length is None else length
    with path.open("rb") as file:
        while left and (block := file.read(min(left, _BLOCK))):
            total.update(block)
            left -= len(block)
    return total


def read(path: Path, *, contiguous: bool = False, skip_damaged: bool = False) -> list[dict[str, Any]]:
    """All records of a journal. Their steps must not decrease; with `contiguous` each must be one more than the last.

    A damaged line raises a StorageError with its number, or is skipped with `skip_damaged`. A last line without a
    newline is still being written and is left out.
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
                records.append(result)  # this record follows a damaged one, hence the gap between the steps
        else:
            raise StorageError(f"{path} line {number} is damaged: {problem}.")
    return records


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """(line number, record) for each line; for a damaged line a sentence on its damage in place of the record."""
    require_regular(path)
    with path.open("rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), start=1):
            if len(raw) > LONGEST:
                yield number, f"longer than {LONGEST:,} bytes; the lines after it are not read"
                return
            if not raw.endswith(b"\n"):
                return
            try:
                record = parse_json(raw.decode())  # decoded here: of bytes json.loads accepts other encodings as well
            except ValueError as error:
                yield number, f"not JSON ({error})"
                continue
            if isinstance(record, dict) and isinstance(record.get("step"), int):
                yield number, _SHAPES.get(path.stem, lambda record: None)(record) or record
            else:
                yield number, "not an object with an integer `step`"


def _of_metrics(record: Mapping[str, Any]) -> str | None:
    """What is wrong with a record of metrics: a metric (a name with a slash) whose value is not a number."""
    odd = next((name for name, value in record.items() if "/" in name and not _is_number(value)), None)
    return None if odd is None else f"{odd} is {record[odd]!r:.60}, which is not a number"


def _of_evals(record: Mapping[str, Any]) -> str | None:
    """What is wrong with a record of an evaluation: a field of the wrong type."""
    counts = ("problems", "samples", "invalid", "length", "truncated")
    odd = [name for name in counts if not _is_number(record.get(name))]
    odd += [name for name in ("pass", "scores") if not _are_estimates(record.get(name) or {})]
    odd += ["bank"] if not isinstance(record.get("bank") or {}, dict) else []
    odd += ["judges"] if not _are_judges(record.get("judges") or []) else []
    odd += ["pass"] if not odd and not all(k.isdecimal() for k in record.get("pass") or {}) else []
    return f"{odd[0]} is {record.get(odd[0])!r:.60}, which no evaluation has there" if odd else None


def _are_estimates(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, dict) and isinstance(one.get("mean"), int | float) and all(map(_is_number, one.values()))
        for one in value.values()
    )


def _are_judges(value: Any) -> bool:
    """Whether this is a list of judges, each with a name and its estimates."""
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("judge"), str) and _are_estimates(one.get("pass") or {})
        for one in value
    )


def _is_number(value: Any) -> bool:
    """Whether this is a number, or null, which stands for a number that was not finite."""
    return value is None or isinstance(value, int | float)


_SHAPES = {"metrics": _of_metrics, "evals": _of_evals}


def _order_problem(previous: int | None, step: int, contiguous: bool) -> str | None:
    if previous is None:
        return f"the first step is {step}, not 0 or 1" if contiguous and step not in (0, 1) else None
    if contiguous and step != previous + 1:
        return f"step {step} follows step {previous}"
    return f"step {step} follows the later step {previous}" if step < previous else None
