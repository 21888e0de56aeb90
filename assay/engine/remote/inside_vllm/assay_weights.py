"""What a vLLM server imports to take weights from a learner: `--worker-extension-cls assay_weights.Worker`.

The folder of this file is on the server's PYTHONPATH. The server has an environment of its own, without Assay: nothing
of Assay is imported here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch
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
    """Nothing need be known before the first update."""


@dataclass
class Bucket(WeightTransferUpdateInfo):
    """A folder of safetensors that this process sees, with some of the tensors of an update."""

    folder: str


class Files(WeightTransferEngine):
    """Weights in the names and shapes of checkpoints, as files. An update is any number of folders."""

    init_info_cls = Begin
    update_info_cls = Bucket

    def init_transfer_engine(self, init_info: Begin) -> None:
        """Files need no connection."""
        self.sums: dict[str, str] = {}

    def start_weight_update(self) -> None:
        self.sums = {}
        initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: Bucket) -> None:
        paths = sorted(Path(update_info.folder).glob("*.safetensors"))
        if not paths:
            raise ValueError(f"{update_info.folder} has no files *.safetensors")
        for path in paths:
            weights = load_file(path)
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
        """Nothing is held."""


class Worker:
    """What each worker of the server can be asked beside vLLM's own questions."""

    weight_transfer_engine: Files

    def assay_checksums(self) -> dict[str, str]:
        """SHA-256 of the bytes of each tensor that came with the last update, by its name in checkpoints."""
        return self.weight_transfer_engine.sums


def checksum(tensor: torch.Tensor) -> str:
    flat = tensor.reshape(-1).contiguous().view(torch.uint8)
    return hashlib.sha256(flat.numpy().data).hexdigest()


WeightTransferEngineFactory.register_engine("assay-files", Files)
