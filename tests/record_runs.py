"""Small run folders for the tests of the record: what they hold, and how a step is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from assay.record import RunFolder

IDENTITY = {"model": {"width": 4, "kind": "tiny"}, "seed": 7}
WEIGHTS = "policy/model.safetensors"


def weights(step: int) -> dict[str, np.ndarray]:
    return {"w": np.full((2, 3), step, np.float32), "count": np.array(step, np.int64)}


def save(run: RunFolder, step: int, **more: Any) -> bool:
    run.append("metrics", {"step": step, "loss": 1 / step})
    return run.save(step, tensors={WEIGHTS: weights(step)}, documents={"memory.json": {"at": step}}, **more)


def checkpoint_of(run: RunFolder, step: int) -> Path:
    return run.path / "ckpt" / f"step-{step:08d}"
