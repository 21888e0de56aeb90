"""Files of a rank that are whole in its memory, and the thread that writes them while the rank goes on computing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.engine.interface import WriteFile
from assay.host.beside import Beside

Written = Mapping[str, tuple[int, str]]
"""File -> its size and SHA-256."""


class Kept:
    """A rank's files of a checkpoint, with the bytes that they had when the checkpoint was begun.

    kept.take(Path("policy/model.safetensors"), pieces)
    kept.begin(folder, write)
    while (found := kept.ended()) is None: ...
    """

    def __init__(self) -> None:
        self._files: dict[str, list[np.ndarray]] = {}
        self._writing: Beside[Written] = Beside()

    def take(self, path: Path, pieces: Iterable[Any]) -> tuple[int, str]:
        """Copies a file's bytes; it has the form of a function that writes a file."""
        self._files[str(path)] = [np.frombuffer(bytes(piece), np.uint8) for piece in pieces]
        return 0, ""

    def clear(self) -> None:
        self._writing.wait()
        self._files, self._writing = {}, Beside()

    def begin(self, folder: Path, write: WriteFile) -> None:
        files = self._files
        self._writing.begin(lambda: {name: write(folder / name, pieces) for name, pieces in files.items()})

    def ended(self) -> Written | OSError | None:
        """The files that were written, or the disk's error; None while they are being written. Frees the memory at the
        end.
        """
        if self._writing.alive:
            return None
        self._files = {}
        try:
            return self._writing.end() or {}
        except OSError as error:
            return error
