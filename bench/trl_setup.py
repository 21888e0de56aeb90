"""What all runs of TRL's trainers have in common. To be imported before its libraries, which read the environment."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import version
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
warnings.filterwarnings("ignore")


def arguments(folder: str, **own: Any) -> dict[str, Any]:
    """Of a trainer on a processor: a constant rate, every activation kept, nothing saved or shown; `own` overrides."""
    return {
        "output_dir": folder,
        "use_cpu": True,
        "bf16": False,
        "lr_scheduler_type": "constant",
        "weight_decay": 0.0,
        "optim": "adamw_torch_fused",
        "gradient_checkpointing": False,
        "logging_strategy": "no",
        "save_strategy": "no",
        "eval_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    } | own


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("trl", "transformers", "torch")}
