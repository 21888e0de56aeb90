"""A folder that every user can enter: else its mode, and no layer of a sandbox, would keep a program out."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A new folder outside those of pytest, which every other run of it on this machine closes again."""
    with tempfile.TemporaryDirectory(prefix="assay-open-") as name:
        folder = Path(name)
        for one in (folder, *folder.parents):
            told = one.stat()
            if told.st_mode & 0o005 != 0o005 and told.st_uid == os.geteuid():
                one.chmod(told.st_mode | 0o005)
        yield folder
