"""The system calls that change a run folder, each between two failpoints.

A file gets its final name only after its bytes were forced to the disk.
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

_SLICE = 16 << 20  # bytes of one write: Linux writes at most 2 GiB at once, and a slice is hashed while in the cache


@contextmanager
def storage_errors(doing: str) -> Iterator[None]:
    """Turns errors of the operating system into StorageErrors: `with storage_errors("writing the report"): ...`"""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{doing} failed: {error}.") from error


def write(fd: int, data: Any, *, point: str) -> None:
    """Writes all of `data` or raises OSError; a file system that takes only a part is taken to be full."""
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
    """Forces the names in a folder to the disk."""
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
    """Gives `path` new content, atomically and durably: a reader sees either the old content or the new content."""
    replace_with(path, [data], point=point)


def replace_with(path: Path, chunks: Iterable[Any], *, point: str) -> None:
    """The same as `replace`, for content that comes in pieces and is never in memory as a whole."""
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")
    try:
        write_new(temporary, chunks, point=point)
        rename(temporary, path, point=point)
    finally:
        temporary.unlink(missing_ok=True)
    fsync_folder(path.parent, point=point)


def remove(path: Path, *, point: str) -> None:
    """Removes a file or a folder with its content."""
    failpoint(f"{point}.before_remove")
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    failpoint(f"{point}.after_remove")


def sweep(folder: Path) -> None:
    """Removes temporary files that an interrupted writer left; only the holder of the run's lock may call this."""
    for leftover in sorted([*folder.glob(".tmp-*"), *folder.glob(".trash-*")]):
        remove(leftover, point="sweep")


def free_name(folder: Path, stem: str, suffix: str = "") -> Path:
    """The path `folder/stem-<n><suffix>` with the smallest n that does not exist yet."""
    n = 1
    while os.path.lexists(path := folder / f"{stem}-{n}{suffix}"):
        n += 1
    return path


def digest_file(path: Path) -> str:
    """The SHA-256 of a regular file; OSError for a symbolic link."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(fd, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
