"""The system calls by which a run folder changes, each between two failpoints, and nothing else.

A file is visible under its final name only after its bytes and then the rename were forced to the disk.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.host.failpoint import failpoint

_SLICE = 16 << 20  # bytes of one write: Linux writes at most 2 GiB at once, and a hash of a slice stays in the cache


@contextmanager
def storage_errors(doing: str) -> Iterator[None]:
    """Errors of the operating system become StorageErrors that say what was being done."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{doing} failed: {error}.") from error


def write(fd: int, data: Any, *, point: str) -> None:
    """All of `data`, or OSError; a file system that takes only a part is full."""
    view = memoryview(data)
    failpoint(f"{point}.before_write", lambda: os.write(fd, view[: len(view) // 2]))
    written = os.write(fd, view)
    if written != len(view):
        raise OSError(errno.ENOSPC, f"only {written} of {len(view)} bytes were written")
    failpoint(f"{point}.after_write")


def fsync(fd: int, *, point: str) -> None:
    failpoint(f"{point}.before_fsync")
    os.fsync(fd)
    failpoint(f"{point}.after_fsync")


def truncate(fd: int, length: int, *, point: str) -> None:
    failpoint(f"{point}.before_truncate")
    os.ftruncate(fd, length)
    failpoint(f"{point}.after_truncate")


def write_new(path: Path, chunks: Iterable[Any], *, point: str) -> tuple[int, str]:
    """Write a file that must not exist and force it to the disk. Returns its size and SHA-256."""
    sha, size = hashlib.sha256(), 0
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        for chunk in chunks:
            view = memoryview(chunk)
            for start in range(0, len(view), _SLICE):
                piece = view[start : start + _SLICE]
                sha.update(piece)
                size += len(piece)
                write(fd, piece, point=point)
        fsync(fd, point=point)
    finally:
        os.close(fd)
    return size, sha.hexdigest()


def make_folder(path: Path, *, point: str) -> None:
    failpoint(f"{point}.before_mkdir")
    path.mkdir()
    failpoint(f"{point}.after_mkdir")


def fsync_folder(path: Path, *, point: str, call: str = "fsync_folder") -> None:
    """Make the names in a folder durable."""
    failpoint(f"{point}.before_{call}")
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    failpoint(f"{point}.after_{call}")


def rename(source: Path, target: Path, *, point: str) -> None:
    failpoint(f"{point}.before_rename")
    source.rename(target)
    failpoint(f"{point}.after_rename")


def replace(path: Path, data: Any, *, point: str) -> None:
    """Give `path` this content, at once and durably: a reader sees the old content or the new one."""
    replace_with(path, [data], point=point)


def replace_with(path: Path, chunks: Iterable[Any], *, point: str) -> None:
    """`replace` by content that comes in pieces, and is never held as a whole."""
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")
    try:
        write_new(temporary, chunks, point=point)
        rename(temporary, path, point=point)
    finally:
        temporary.unlink(missing_ok=True)
    fsync_folder(path.parent, point=point)


def remove(path: Path, *, point: str) -> None:
    """Remove a file or a tree that nobody refers to any more."""
    failpoint(f"{point}.before_remove")
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    failpoint(f"{point}.after_remove")


def sweep(folder: Path) -> None:
    """Remove what an interrupted writer left; only the holder of the run's lock may do this."""
    for leftover in sorted([*folder.glob(".tmp-*"), *folder.glob(".trash-*")]):
        remove(leftover, point="sweep")


def free_name(folder: Path, stem: str, suffix: str = "") -> Path:
    """`folder/stem-<n><suffix>` for the smallest n that is free."""
    n = 1
    while os.path.lexists(path := folder / f"{stem}-{n}{suffix}"):
        n += 1
    return path


def digest_file(path: Path) -> str:
    """SHA-256 of a regular file; a symlink is refused by the system."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(fd, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
