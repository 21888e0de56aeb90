"""The module by which a vLLM server takes weights from a learner: `--worker-extension-cls assay_weights.Worker`.

The folder of this file is on the server's PYTHONPATH. The server has an environment of its own, without Assay: nothing
of Assay is imported here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from assay_group import Joining, WeightGroup, unpacked
from assay_store import store_behind
from safetensors.torch import load_file
from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload


@dataclass
class Begin(WeightTransferInitInfo):
    """How buckets come. Files need no further field; a process group needs those of `Joining`."""

    backend: str = "files"
    host: str = ""
    port: int = 0
    name: str = ""
    size: int = 0
    seconds: float = 0.0
    secret: str = ""


@dataclass
class Bucket(WeightTransferUpdateInfo):
    """Some of the tensors of an update: in a folder of safetensors that this process sees, or as bytes that now come
    through the group.
    """

    folder: str = ""
    names: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    shapes: list[list[int]] = field(default_factory=list)


class Buckets(WeightTransferEngine):
    """Weights in the names and shapes of checkpoints. An update is any number of buckets."""

    init_info_cls = Begin
    update_info_cls = Bucket
    updates = 0  # that were begun

    def init_transfer_engine(self, init_info: Begin) -> None:
        self.sums: dict[str, str] = {}
        self.group: WeightGroup | None = None
        if init_info.backend != "files":
            joining, parallel = Joining(**asdict(init_info)), self.parallel_config
            number = 1 + parallel.data_parallel_index * parallel.world_size + parallel.rank
            device = self.device if joining.backend == "nccl" else torch.device("cpu")
            store = store_behind(joining.host, joining.port, joining.secret, joining.seconds)
            self.group = WeightGroup(joining, number, store, device)

    def start_weight_update(self) -> None:
        self.updates += 1
        self.sums = {}
        initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: Bucket) -> None:
        if self.group is not None:
            told = asdict(update_info)
            self.take(unpacked(told, self.group.receive(told)))
            return
        paths = sorted(Path(update_info.folder).glob("*.safetensors"))
        if not paths:
            raise ValueError(
                f"{update_info.folder} has no files *.safetensors here. Where a server does not see the folder of the "
                "run, `--machine.publish gloo` sends weights over the network."
            )
        for path in paths:
            self.take(load_file(path))

    def take(self, weights: dict[str, torch.Tensor]) -> None:
        self.sums |= {name: checksum(tensor) for name, tensor in weights.items()}
        self.load(weights)

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        self.model.load_weights(weights.items())

    def finish_weight_update(self) -> None:
        """On a processor, layers compute with a packed copy of their weight, and the output layer's is not made again
        by vLLM 0.32: it would compute with the old weights for ever.
        """
        finalize_layerwise_reload(self.model, self.model_config)
        if self.device.type == "cpu":
            for layer in self.model.modules():
                if hasattr(layer, "cpu_linear") and layer.weight.numel():
                    dispatch_cpu_unquantized_gemm(layer, remove_weight=False)

    def shutdown(self) -> None:
        self.group = None


class Worker:
    """The questions that each worker of the server answers beside vLLM's own."""

    weight_transfer_engine: Buckets

    def assay_checksums(self) -> dict[str, str]:
        """SHA-256 of the bytes of each tensor that came with the last update, by its name in checkpoints."""
        return self.weight_transfer_engine.sums

    def assay_held(self) -> str:
        """A mark that changes with each update, also with one that puts the same weights back."""
        told = "".join(f"{name} {value}\n" for name, value in sorted(self.weight_transfer_engine.sums.items()))
        return f"{self.weight_transfer_engine.updates}:{hashlib.sha256(told.encode()).hexdigest()}"


def checksum(tensor: torch.Tensor) -> str:
    flat = tensor.reshape(-1).cpu().contiguous().view(torch.uint8)
    return hashlib.sha256(flat.numpy().data).hexdigest()


WeightTransferEngineFactory.register_engine("assay", Buckets)
