"""The state of a parameter set of this process as files of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from assay.engine.interface import WriteFile
from assay.host import tensors


@dataclass(frozen=True)
class FileState:
    """The state of a parameter set in this process, by the files that a checkpoint holds of it."""

    files: Mapping[str, Mapping[str, Tensor]]  # file -> its tensors

    @property
    def nbytes(self) -> int:
        return sum(map(tensors.nbytes, self.files.values()))

    @property
    def folders(self) -> list[str]:
        return sorted({name.rpartition("/")[0] for name in self.files})

    def broken(self) -> str | None:
        found = ((name, tensors.first_non_finite(content)) for name, content in self.files.items())
        return next((f"{tensor} of {name}" for name, tensor in found if tensor is not None), None)

    def write(self, folder: Path, write: WriteFile) -> dict[str, tuple[int, str]]:
        return {name: write(folder / name, tensors.encode(content)) for name, content in self.files.items()}


def below(state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries of a state whose names begin with `prefix`, under their names without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
