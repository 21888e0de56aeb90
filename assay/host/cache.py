"""The folders of a user: for models and files that can be made again, and for facts that commands remember."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import StorageError


def cache_folder() -> Path:
    """`$ASSAY_CACHE`, or `assay` in the user's cache folder."""
    if chosen := os.environ.get("ASSAY_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"


def state_folder() -> Path:
    """`$ASSAY_STATE`, or `assay` in the user's folder of state, which outlives the cache."""
    if chosen := os.environ.get("ASSAY_STATE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "assay"


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Holds the lock of a folder of the cache while it is made: of several processes one makes it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = (target.parent / f".{target.name}.lock").open("w")
    except OSError as error:
        raise StorageError(
            f"the cache cannot be written: {error}. Set ASSAY_CACHE to a folder that you may write to."
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
