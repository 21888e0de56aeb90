"""Reading small files that a stranger may have made: only regular files, up to a size, and JSON up to a depth.

A name in a folder may lead to a pipe that never sends anything, to a device that never ends, or to text that fills the
memory. Such a file is refused with an error before its content is read.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from assay.errors import StorageError

SMALL = 4 << 20  # bytes of a file of settings
DEEP = 64  # levels of nested objects and lists
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a folder"),
)


class TooDeep(ValueError):
    """JSON whose lists and objects are nested deeper than any file that Assay writes."""

    def __init__(self) -> None:
        super().__init__(f"its lists and objects are nested deeper than {DEEP} levels")


def require_regular(path: Path | str) -> os.stat_result:
    """The status of a file, following links; StorageError for a pipe, a socket, a device or a folder."""
    found = Path(path).stat()
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_it, name in _KINDS if is_it(found.st_mode)), "no file")
        raise StorageError(f"{path} is {kind}, and should be a file; it is not read.")
    return found


def read_bytes(path: Path | str, *, most: int = SMALL) -> bytes:
    """The content of a file of at most `most` bytes; StorageError for larger files and for what is no regular file."""
    require_regular(path)
    # The file may be replaced by a pipe between the check and the opening; O_NONBLOCK opens a pipe without waiting.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(f"{path} was a file and is none any more; it is not read.")
        data = file.read(most + 1) if status.st_size <= most else b""
    if status.st_size > most or len(data) > most:
        raise StorageError(
            f"{path} has {max(status.st_size, len(data)):,} bytes; such a file has at most {most:,}. It is not read."
        )
    return data


def read_json(path: Path | str, *, most: int = SMALL) -> Any:
    """The data of a JSON file; StorageError if it cannot be read, FileNotFoundError if it does not exist."""
    try:
        return parse_json(read_bytes(path, most=most))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} cannot be read as JSON: {error}") from error


def parse_json(data: bytes | str) -> Any:
    """The value of JSON text; ValueError for text that is no JSON, TooDeep for values that are nested too deep."""
    try:
        value = json.loads(data)
    except RecursionError:
        raise TooDeep from None
    require_shallow(value)
    return value


def require_shallow(value: Any) -> None:
    """Raises TooDeep for a value nested deeper than `DEEP`. Other code may then walk through the value recursively."""
    level = [value]
    for _ in range(DEEP + 1):
        held = [item for item in level if isinstance(item, dict | list)]
        if not held:
            return
        level = [child for item in held for child in (item.values() if isinstance(item, dict) else item)]
    raise TooDeep
