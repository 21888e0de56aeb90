"""Failpoints: places where a test can make the process die or the disk fail, to show that a run survives it.

`ASSAY_FAILPOINT="name:action[:nth]"` arms one. Actions: `kill` (SIGKILL to oneself), `enospc` and `eio` (the system
call fails, a write after half of its bytes), `short` (half of the bytes, then kill). `nth` counts the visits of that
name from 1; `*` means every visit.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.errors import UsageError, unknown

ACTIONS = ("kill", "enospc", "eio", "short")


def _around(place: str, *calls: str) -> Iterable[str]:
    return (f"{place}.{when}_{call}" for call in calls for when in ("before", "after"))


OF_BANKS: tuple[str, ...] = tuple(_around("samples", "write", "fsync", "rename", "fsync_folder"))
"""The failpoints in the writing of a bank of samples. No run visits them."""

FAILPOINTS: tuple[str, ...] = (
    *OF_BANKS,
    *_around("run", "write", "fsync", "rename", "fsync_folder"),
    *_around("checkpoint", "mkdir", "write", "fsync", "fsync_folder", "rename", "fsync_store"),
    *_around("retention", "rename", "remove"),
    *_around("best", "write", "fsync", "rename", "fsync_folder"),
    *_around("jsonl", "write", "fsync", "truncate"),
    *_around("rollouts", "write", "fsync", "rename", "fsync_folder"),
    *_around("orphan", "write", "fsync", "rename", "fsync_folder"),
    *_around("rewind", "rename"),
    *_around("quarantine", "rename"),
    *_around("sweep", "remove"),
    "loop.collect",
    "loop.verify",
    "loop.update",
    "loop.save",
    "loop.record",
)


@dataclass
class _Armed:
    name: str
    action: str
    nth: int  # 0: every visit
    visits: int = 0


def parse(spec: str) -> _Armed:
    name, _, rest = spec.partition(":")
    action, _, nth = rest.partition(":")
    if name not in FAILPOINTS:
        raise unknown("failpoint", name, FAILPOINTS, "assay.host.failpoint.FAILPOINTS")
    if action not in ACTIONS:
        raise unknown("failpoint action", action, ACTIONS, "assay.host.failpoint.ACTIONS")
    if nth not in ("", "*") and not nth.isdecimal():
        raise UsageError(f"ASSAY_FAILPOINT wants name:action[:nth] with nth a number or *, and got {spec!r}.")
    return _Armed(name, action, 0 if nth == "*" else int(nth or 1))


_armed: _Armed | None = parse(os.environ["ASSAY_FAILPOINT"]) if os.environ.get("ASSAY_FAILPOINT") else None


def arm(spec: str | None) -> None:
    """Arm one failpoint in this process; None disarms it."""
    global _armed
    _armed = parse(spec) if spec else None


def failpoint(name: str, half: Callable[[], object] | None = None) -> None:
    """Fail here if this place is armed. `half` does the first half of the write that would come next."""
    if _armed is None or _armed.name != name:
        return
    _armed.visits += 1
    if _armed.nth not in (0, _armed.visits):
        return
    if half is not None and _armed.action != "kill":
        half()
    if _armed.action in ("kill", "short"):
        os.kill(os.getpid(), signal.SIGKILL)
    raise OSError(getattr(errno, _armed.action.upper()), f"failpoint {name}")
