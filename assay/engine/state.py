"""The state of a parameter set of this process as files of a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay.engine.interface import WriteFile
from assay.host import tensors
from assay.host.files import read_json
from assay.host.space import holds_twice
from assay.policy.safetensors_folder import opened
from assay.rng import Key


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

    def has_room(self, size: int) -> bool:
        return holds_twice(size)

    def kept(self) -> FileState:
        copies = {
            file: {name: tensor.detach().to("cpu", copy=True) for name, tensor in content.items()}
            for file, content in self.files.items()
        }
        return FileState(copies)

    def write(self, folder: Path, write: WriteFile) -> dict[str, tuple[int, str]]:
        return {name: write(folder / name, tensors.encode(content)) for name, content in self.files.items()}


def below(state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries of a state whose names begin with `prefix`, under their names without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def disturb(tensor: Tensor, name: str, *, share: float = 0.1) -> None:
    """Adds noise to a tensor: a tenth of its mean size, or of 1 where it is all zeros."""
    if not tensor.is_floating_point() or not tensor.numel():
        return
    size = float(tensor.abs().mean()) or 1.0
    noise = Key("disturbed")(name).generator().normal(0.0, share * size, tuple(tensor.shape))
    tensor.add_(torch.from_numpy(noise).to(tensor.device, tensor.dtype))


def index_of(files: Mapping[str, str], size: int) -> bytes:
    """The index beside files over which tensors are spread, as Hugging Face writes it: tensor -> the file's name."""
    names = {tensor: file.rpartition("/")[2] for tensor, file in sorted(files.items())}
    return (json.dumps({"metadata": {"total_size": size}, "weight_map": names}, indent=1) + "\n").encode()


def read_all(path: Path) -> dict[str, Tensor]:
    """All tensors of a file, or of the files over which they are spread."""
    found: dict[str, Tensor] = {}
    for file in sorted(set(shards_of(path).values())):
        found |= tensors.decode(file, "torch")
    return found


def shards_of(path: Path) -> dict[str, Path]:
    """Tensor -> the file that holds it: one safetensors file, or several with an index beside them."""
    index = path.with_name(f"{path.name}.index.json")
    if path.is_file() or not index.is_file():
        with opened(path) as file:
            return dict.fromkeys(file.keys(), path)
    names = read_json(index)["weight_map"]
    return {tensor: path.with_name(Path(name).name) for tensor, name in names.items()}
