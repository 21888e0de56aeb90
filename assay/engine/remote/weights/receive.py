"""The weights of a served engine: taken from somewhere else piece by piece, and told by checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.local import LocalEngine

BUCKET = 256 << 20  # bytes that are held at a time beside the weights themselves

Piece = tuple[str, int, "Tensor"]
"""(name of a tensor in checkpoint files, number of the first row of this piece, the rows of the piece)"""

Transport = Callable[[Mapping[str, Any]], Iterator[Piece]]
"""(`update_info` of `/update_weights`) -> the pieces of tensors that come by it."""


def from_files(told: Mapping[str, Any]) -> Iterator[Piece]:
    """The tensors of a `folder` of safetensors that this machine sees, in pieces of one bucket at most."""
    from assay.policy.safetensors_folder import opened

    folder = Path(str(told.get("folder", "")))
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise DataError(
            f"update_info.folder is a folder with files *.safetensors, and {folder} has none here. Where a server does "
            "not see the folder of the run, `--machine.publish gloo` sends weights over the network."
        )
    for path in paths:
        with opened(path) as file:
            for name in sorted(file.keys()):
                part = file.get_slice(name)
                shape = part.get_shape()
                if not shape:
                    yield name, 0, file.get_tensor(name)
                    continue
                step = max(1, BUCKET * shape[0] // max(1, _size(part)))
                for first in range(0, shape[0], step):
                    yield name, first, part[first : first + step]


def _size(part: Any) -> int:
    width = int("".join(c for c in part.get_dtype() if c.isdigit()) or 8) // 8
    size = max(1, width)
    for count in part.get_shape():
        size *= count
    return size


class FromNetwork:
    """The tensors of a bucket that the learner sends through a process group, of which this process is number 1.

    Example:
        FromNetwork(asdict(Joining("gloo", "10.0.0.4", 40123, "server 0", 2, 60.0, secret)))
    """

    def __init__(self, told: Mapping[str, Any]) -> None:
        import torch

        from assay.engine.remote.inside_vllm.assay_group import Joining, WeightGroup
        from assay.engine.remote.inside_vllm.assay_store import store_behind

        try:
            joining = Joining(**told)
        except TypeError as error:
            raise DataError(f"init_info does not say which group of processes is joined: {error}.") from None
        cuda = joining.backend == "nccl"
        device = torch.device("cuda", torch.cuda.current_device()) if cuda else torch.device("cpu")
        store = store_behind(joining.host, joining.port, joining.secret, joining.seconds)
        self.group = WeightGroup(joining, 1, store, device)

    def __call__(self, told: Mapping[str, Any]) -> Iterator[Piece]:
        from assay.engine.remote.inside_vllm.assay_group import unpacked

        if not all(isinstance(told.get(name), list) for name in ("names", "dtypes", "shapes")):
            raise DataError("update_info says the names, dtypes and shapes of the tensors that come.")
        for name, tensor in unpacked(told, self.group.receive(told)).items():
            yield name, 0, tensor


TRANSPORTS: dict[str, Callable[[Mapping[str, Any]], Transport]] = {
    "files": lambda told: from_files,
    "gloo": FromNetwork,
    "nccl": FromNetwork,
}
"""`backend` in `init_info` of `/init_weight_transfer_engine` -> how the pieces of updates come from then on."""


class Receiver:
    """Takes the weights of a version into an engine. Between `start` and `finish` the engine has parts of two versions,
    and must not be asked.

    Example:
        receiver.start()
        for piece in from_files({"folder": folder}):
            receiver.take(*piece)
        receiver.finish(7)
    """

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine
        self._missing: dict[str, int] = {}  # name -> rows that have not come

    @property
    def slots(self) -> dict[str, Tensor]:
        """The weights themselves, by their names in checkpoint files."""
        view = self.engine.view()
        return {name.removeprefix("parameter/"): value for name, value in view.items() if name != "version"}

    def start(self) -> None:
        self._missing = {name: _rows(tensor) for name, tensor in self.slots.items()}

    def take(self, name: str, first: int, rows: Tensor) -> None:
        slot = self.slots.get(name)
        if slot is None:
            raise DataError(
                f"the model has no tensor {name}; it has {len(self.slots)}, such as {next(iter(self.slots))}."
            )
        if not slot.dim():
            slot.copy_(rows)
        elif rows.shape[1:] != slot.shape[1:] or first < 0 or first + len(rows) > len(slot):
            came = f"rows {first} to {first + len(rows)} of shape {list(rows.shape[1:])}"
            raise DataError(f"tensor {name} has the shape {list(slot.shape)}, and {came} came.")
        else:
            slot[first : first + len(rows)].copy_(rows)
        self._missing[name] = self._missing.get(name, 0) - (len(rows) if slot.dim() else 1)

    def finish(self, version: int) -> None:
        if short := sorted(name for name, left in self._missing.items() if left > 0):
            raise DataError(f"{len(short)} tensors are not whole, first {short[0]}: every tensor is sent at an update.")
        self._missing = {}
        self.engine.load({**self.engine.view(), "version": version})

    def checksums(self) -> dict[str, str]:
        """SHA-256 of the bytes of each tensor, as it is kept here: fp32 at least, row by row."""
        return {name: checksum(tensor) for name, tensor in self.slots.items()}


def digest_of(sums: Mapping[str, str]) -> str:
    """One digest of all tensors, by the checksum of each under its name."""
    told = "".join(f"{name} {value}\n" for name, value in sorted(sums.items()))
    return hashlib.sha256(told.encode()).hexdigest()


def checksum(tensor: Tensor) -> str:
    """SHA-256 of a tensor's bytes; one bucket of it is copied to the host at a time."""
    import torch

    flat, found = tensor.detach().reshape(-1), hashlib.sha256()
    step = BUCKET // max(1, flat.element_size())
    for first in range(0, flat.numel(), step):
        found.update(flat[first : first + step].cpu().contiguous().view(torch.uint8).numpy().data)
    return found.hexdigest()


def _rows(tensor: Tensor) -> int:
    return len(tensor) if tensor.dim() else 1
