"""Control groups: the kernel's limits of memory and processes for everything in a sandbox together, where writable.

Both versions are known. A group is a folder that a trainer's process makes and removes; what a killed trainer has left
is removed by the next one. Where no group can be made, the limits of single processes stand alone.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_PREFIX = "assay-sandbox-"
_numbers = itertools.count()


class ControlGroup:
    """A control group for one sandbox: `group = made(); group.take(pid); group.limit(memory_mb=512, processes=40)`."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders  # of each controller; the same one twice in version 2
        self._second = folders["memory"] == folders["pids"]

    def take(self, pid: int) -> None:
        for folder in set(self._folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def limit(self, *, memory_mb: int, processes: int) -> None:
        memory = self._folders["memory"]
        names = ("memory.max", "memory.swap.max") if self._second else ("memory.limit_in_bytes", "")
        (memory / names[0]).write_text(str(memory_mb << 20))
        if names[1] and (memory / names[1]).exists():
            (memory / names[1]).write_text("0")
        (self._folders["pids"] / "pids.max").write_text(str(processes))

    def killed(self) -> int:
        """How many processes the kernel has killed for memory."""
        events = self._folders["memory"] / ("memory.events" if self._second else "memory.oom_control")
        lines = [line.split() for line in events.read_text().splitlines()]
        return next((int(value) for name, value in lines if name == "oom_kill"), 0)

    def remove(self) -> None:
        """Removes the group, in which no process is left."""
        for folder in set(self._folders.values()):
            _removed(folder, patience=2.0)


def made(root: Path = ROOT) -> ControlGroup | None:
    """A new group below that of this process, or None if this machine allows none."""
    places = _places(root)
    name = f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    for memory, pids in places:
        folders = {"memory": memory / name, "pids": pids / name}
        try:
            for folder in dict.fromkeys(folders.values()):
                _forget_dead(folder.parent)
                folder.mkdir()
            group = ControlGroup(folders)
            group.limit(memory_mb=1024, processes=1024)
            group.killed()
        except OSError:
            for folder in folders.values():
                _removed(folder)
            continue
        return group
    return None


def _places(root: Path) -> list[tuple[Path, Path]]:
    """Folders in which a group for memory and a group for processes may be made."""
    own: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            own |= dict.fromkeys(names.split(","), path.lstrip("/"))
    folders = []
    if "memory" in own and "pids" in own:
        folders += [(root / "memory" / own["memory"], root / "pids" / own["pids"])]
    if "" in own:  # version 2: groups stand beside this process or below it, where both controllers are handed down
        for folder in (root / own[""], (root / own[""]).parent):
            with contextlib.suppress(OSError):
                handed = (folder / "cgroup.subtree_control").read_text().split()
                if {"memory", "pids"} <= set(handed):
                    folders.append((folder, folder))
    return folders


def _forget_dead(place: Path) -> None:
    """Removes groups of trainers that no longer run."""
    for folder in place.glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path("/proc", pid).exists():
            _removed(folder)


def _removed(folder: Path, *, patience: float = 0.0) -> None:
    end = time.monotonic() + patience
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # processes that were killed take a moment to leave it
            if time.monotonic() > end:
                return
            time.sleep(0.005)
        else:
            return
