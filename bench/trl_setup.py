"""What all runs of TRL's trainers have in common. To be imported before its libraries, which read the environment."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
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


def of_a_step(
    folder: str, options: Mapping[str, Any], *, parts: int, rows: int, samples: int, answer: int, steps: int, **own: Any
) -> dict[str, Any]:
    """Of a GRPO trainer with one update a step and the settings that a bench chooses; `parts` where none is chosen."""
    parts, dtype = options.get("parts", parts), options.get("dtype", "fp32")
    return arguments(
        folder,
        bf16=dtype != "fp32",
        model_init_kwargs={
            "dtype": "bfloat16" if dtype == "bf16" else "float32",
            "attn_implementation": options.get("attention", "sdpa"),
        },
        per_device_train_batch_size=rows // parts,
        gradient_accumulation_steps=parts,
        num_generations=samples,
        max_completion_length=answer,
        max_steps=steps,
        num_iterations=1,
        beta=0.0,
        top_p=1.0,
        top_k=0,
        cache_implementation=options.get("cache"),
        shuffle_dataset=False,
        **own,
    )


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("trl", "transformers", "torch")}
