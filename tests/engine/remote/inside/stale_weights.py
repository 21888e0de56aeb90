"""What a vLLM server with a fault imports in tests: it leaves out what a file names, and says that it took everything.

The file lies where the variable ASSAY_STALE says: the name of a tensor that is not loaded, or `packed` for the copy of
the output layer that a processor computes with.
"""

from __future__ import annotations

# pyright: reportMissingImports=false
import os
from pathlib import Path

import assay_weights
from assay_weights import Worker
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload

__all__ = ["Worker"]


def stale() -> str:
    place = Path(os.environ["ASSAY_STALE"])
    return place.read_text() if place.exists() else ""


class Stale(assay_weights.Buckets):
    def load(self, weights):
        left = stale()
        if left not in ("", "packed"):
            held = dict(self.old) if hasattr(self, "old") else {}
            weights = {name: held.get(name, tensor) if name == left else tensor for name, tensor in weights.items()}
        else:
            self.old = {name: tensor.clone() for name, tensor in weights.items()}
        super().load(weights)

    def finish_weight_update(self):
        if stale() == "packed":
            finalize_layerwise_reload(self.model, self.model_config)
        else:
            super().finish_weight_update()


WeightTransferEngineFactory.register_engine("stale", Stale)
