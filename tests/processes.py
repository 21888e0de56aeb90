"""Which processes there are: whether one is still there, and what it has started."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process is there and not only waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int, *, within: float = 20.0) -> bool:
    """Whether it ends before long; the limit only keeps a failing test from hanging."""
    end = time.monotonic() + within
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def command_of(pid: int) -> str:
    """How a process was started; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def below(pid: int) -> list[int]:
    """All processes that a process has started, and those that they have started."""
    found, parents = [], {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(folder.name)] = parent_of(int(folder.name))
    front = [pid]
    while front:
        front = [child for child, parent in parents.items() if parent in front]
        found += front
    return found
