"""Small files that a stranger may have made: regular ones alone, up to a size, JSON down to a depth.

A name in a folder may lead to a pipe that never says anything, to a device that never ends, or to text that fills the
memory when it is read. What is refused is told before anything is held.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from assay.errors import StorageError

SMALL = 4 << 20  # bytes of a file of settings
DEEP = 64  # objects and lists within one another
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a folder"),
)


class TooDeep(ValueError):
    """JSON whose lists and objects lie deeper within one another than anything does that is written on purpose."""

    def __init__(self) -> None:
        super().__init__(f"it is nested deeper than {DEEP} lists and objects")


def require_regular(path: Path | str) -> os.stat_result:
    """What the system says of a file, or of what a link leads to; StorageError for a pipe, a device, a folder."""
    found = Path(path).stat()
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_it, name in _KINDS if is_it(found.st_mode)), "no file")
        raise StorageError(f"{path} is {kind}, and should be a file; it is not read.")
    return found


def read_bytes(path: Path | str, *, most: int = SMALL) -> bytes:
    """A whole file. OSError as the system raises it, StorageError for what is no file of at most this size."""
    require_regular(path)
    # What the name leads to may change between the question and the opening: a pipe is then opened without waiting.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise StorageError(f"{path} is no file any more; it is not read.")
        data = file.read(most + 1) if found.st_size <= most else b""
    if found.st_size > most or len(data) > most:
        raise StorageError(
            f"{path} has {max(found.st_size, len(data)):,} bytes; such a file has at most {most:,}. It is not read."
        )
    return data


def read_json(path: Path | str, *, most: int = SMALL) -> Any:
    """What a JSON file says; StorageError if it cannot be read, FileNotFoundError if it is not there."""
    try:
        return parse_json(read_bytes(path, most=most))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} cannot be read as JSON: {error}") from error


def parse_json(data: bytes | str) -> Any:
    """The value; ValueError for what is no JSON, TooDeep for what is nested too deep."""
    try:
        value = json.loads(data)
    except RecursionError:
        raise TooDeep from None
    require_shallow(value)
    return value


def require_shallow(value: Any) -> None:
    """TooDeep where lists and objects lie deeper within one another; what walks through them may then recurse."""
    level = [value]
    for _ in range(DEEP + 1):
        held = [item for item in level if isinstance(item, dict | list)]
        if not held:
            return
        level = [child for item in held for child in (item.values() if isinstance(item, dict) else item)]
    raise TooDeep
