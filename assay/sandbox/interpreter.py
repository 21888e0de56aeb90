"""The Python that runs programs: that of this process at every level, so that no verdict depends on the level.

At L1 a program of a trainer that is root runs as a user of its own, who cannot enter root's folders. If this process's
Python lies in such a folder, its files are copied once to a place that every user can read; see `readable`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from assay.sandbox.inside import confine
from assay.sandbox.limits import Level

PLACE = Path("/var/cache/assay")  # of copies, one for each Python; they may be deleted while no trainer runs
VERSION = sys.version.split()[0]
_ALL = 0o005  # others may read and enter


def interpreter(level: Level) -> str:
    """The Python for a sandbox of this level. OSError where a program's user could not read it, nor a copy."""
    path = own()
    if level == "L2" or os.geteuid() != 0:
        return str(path)
    return str(readable(path, Path(confine.standard_library())))


def own() -> Path:
    """The Python of this process; within a virtual environment, the one that it was made of."""
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


@functools.cache
def readable(python: Path, standard: Path, *, place: Path = PLACE) -> Path:
    """This Python if every user can read it with its standard library, else a copy that every user can read.

    A copy holds the files that a program may read, and its folder's name follows from names, sizes and times of these.
    """
    if _open(python) and _open(standard / "os.py"):
        return python
    files = _files(python, standard)
    told = "".join(f"{name} {file.stat().st_size} {file.stat().st_mtime_ns}\n" for name, file in files.items())
    copy = place / f"python-{VERSION}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
    try:
        if not copy.exists():
            _copy(files, copy)
        _trusted(copy)
    except OSError as error:
        raise OSError(
            f"programs run as a user of their own, who cannot read {python}, and no copy can be made: {error}. Install "
            f"Python where every user can read it, or let others enter its folders (chmod o+x {_closed(python)})"
        ) from None
    return copy / python.relative_to(python.parents[1])


def _files(python: Path, standard: Path) -> dict[str, Path]:
    """The files of a copy, by their names in the copy."""
    prefix = python.parents[1]
    found = {str(python.relative_to(prefix)): python}
    for text in confine.places(str(standard)):
        path = Path(text)
        if path.is_relative_to(prefix):
            inner = sorted(path.rglob("*")) if path.is_dir() else [path]
            found |= {str(file.relative_to(prefix)): file for file in inner if file.is_file()}
    return found


def _copy(files: dict[str, Path], copy: Path) -> None:
    """Copies the files under another name first: a copy that can be seen is whole."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=copy.parent, prefix=".new-"))
    try:
        for name, file in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            _put(file, new / name)
        for folder in (copy.parent, new, *(path for path in new.rglob("*") if path.is_dir())):
            folder.chmod(0o755)
        with contextlib.suppress(FileExistsError):  # another process was faster
            new.rename(copy)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _put(file: Path, place: Path) -> None:
    """The same file under a second name, where the disk is the same and others may read it; else a copy."""
    if file.is_symlink() and len(file.readlink().parts) == 1:
        place.symlink_to(file.readlink())  # a library's short name
        return
    mode = 0o755 if os.access(file, os.X_OK) else 0o644
    with contextlib.suppress(OSError):
        if file.stat().st_mode & 0o777 == mode:
            place.hardlink_to(file.resolve())
            return
    shutil.copy2(file, place)  # with its times, which compiled modules name
    place.chmod(mode)


def _trusted(copy: Path) -> None:
    """OSError unless every user can read this copy and root alone can change it."""
    for folder in (copy, copy.parent):
        told = folder.stat()
        if told.st_uid != os.geteuid() or told.st_mode & 0o022:
            raise OSError(f"{folder} can be changed by others")
    if (closed := _closed(copy)) is not None:
        raise OSError(f"{closed} is closed to other users")
    if os.statvfs(copy).f_flag & os.ST_NOEXEC:
        raise OSError(f"{copy.parent} is mounted without the right to execute")


def _open(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o004) and _closed(path) is None


def _closed(path: Path) -> Path | None:
    """The outermost folder of this path that other users cannot enter."""
    return next((folder for folder in reversed(path.parents) if folder.stat().st_mode & _ALL != _ALL), None)
