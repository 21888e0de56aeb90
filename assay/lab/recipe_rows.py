"""The rows of `assay list recipes`, kept in the cache folder: they are made from some two hundred modules of methods,
which take four times as long to import as everything else that the command does.

What is kept names the size and the time of change of every file of the package, as Python's own bytecode does of its
source. Rows of other files are made anew, so a method that was just written is listed at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.host.cache import cache_folder
from assay.host.files import read_json
from assay.host.offers import installed

PACKAGE = Path(__file__).parents[1]
Rows = list[dict[str, Any]]


def recipe_rows() -> Rows:
    """A row for each recipe; made anew where a method may have come from elsewhere than the files of this package.

    That is so where another package offers something, and where this process has the registry already.
    """
    if installed() or "assay.known" in sys.modules:
        return _made()
    place, files = kept_at(), state_of(PACKAGE)
    if (rows := _kept(place, files)) is None:
        rows = _made()
        _keep(place, files, rows)
    return rows


def kept_at() -> Path:
    """The file of the cache for this copy of the package: another copy has another."""
    name = hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:16]
    return cache_folder() / "recipes" / f"{name}.json"


def state_of(folder: Path) -> str:
    """A digest of the names, sizes and times of change of all files of a folder, bytecode aside."""
    told = "".join(f"{path} {size} {changed}\n" for path, size, changed in sorted(_files(str(folder))))
    return hashlib.sha256(told.encode()).hexdigest()


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path) if entry.name != "__pycache__" else ()
            else:
                status = entry.stat(follow_symlinks=entry.is_file())  # a link of an editor may lead nowhere
                yield entry.path, status.st_size, status.st_mtime_ns


def _made() -> Rows:
    from assay.lab.catalogue import listing

    return listing("recipes")


def _kept(place: Path, files: str) -> Rows | None:
    """The rows if these files made them; None if others did, and if the cache has none that can be read."""
    try:
        kept = read_json(place)
    except (OSError, StorageError):
        return None
    return kept["rows"] if isinstance(kept, dict) and kept.get("files") == files else None


def _keep(place: Path, files: str, rows: Rows) -> None:
    """Keeps the rows for the next call. Where nothing can be written, the next call makes the same rows anew."""
    unfinished = place.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            unfinished.write_text(json.dumps({"files": files, "rows": rows}))
            unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)
