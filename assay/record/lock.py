"""The lock of a run folder, which allows one writer. The kernel releases the lock when the holding process ends."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import uuid
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.host.files import read_json


class RunLocked(StorageError):
    """Another process writes to this run.

    The exit code is not that of `Stopped`, at which a supervisor would restart the command again and again.
    """


class Lock:
    """`flock` on a file whose content says who holds the lock: host, boot id, process id, start, uuid.

    lock = Lock(Path("runs/first/lock"))
    lock.acquire()  # RunLocked if another process holds it
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    def acquire(self) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise RunLocked(self._refusal()) from None
            raise StorageError(
                f"{self.path} cannot be locked ({error}): two processes could write to one run. "
                "Put the run on a file system that supports flock."
            ) from error
        self._fd = fd
        _held.add(self)
        os.ftruncate(fd, 0)
        os.pwrite(fd, (json.dumps(_me()) + "\n").encode(), 0)

    def release(self) -> None:
        """Releases the lock, if it is held. The file stays, because else two processes could lock two files."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            _held.discard(self)

    @property
    def held(self) -> bool:
        return self._fd is not None

    def _refusal(self) -> str:
        owner = holder(self.path)
        who = "another process"
        if owner:
            who = f"process {owner.get('pid')} on {owner.get('host')}, since {owner.get('started')}"
        return f"The run {self.path.parent} is in use by {who}. Wait for it or stop it, then try again."


def holder(path: Path) -> dict[str, Any] | None:
    """The last holder of a lock, from the content of its file; None if the content cannot be read."""
    try:
        content = read_json(path)
    except (OSError, StorageError):
        return None
    return content if isinstance(content, dict) else None


def _me() -> dict[str, Any]:
    boot = Path("/proc/sys/kernel/random/boot_id")
    return {
        "host": socket.gethostname(),
        "boot": boot.read_text().strip() if boot.exists() else "",
        "pid": os.getpid(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "uuid": uuid.uuid4().hex,
    }


_held: weakref.WeakSet[Lock] = weakref.WeakSet()


def _forget() -> None:
    # A forked process shares the file descriptor, and would hold the lock even after the run's own process has ended.
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_forget)
