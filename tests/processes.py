"""Whether a process is still there."""

from __future__ import annotations

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
