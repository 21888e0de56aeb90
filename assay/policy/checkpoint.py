"""A policy on disk, of whatever kind it is: a whole model, or an adapter in PEFT's layout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from assay.policy.adapter_folder import load_adapted
from assay.policy.kinds import kind_of
from assay.policy.lora import CONFIG
from assay.policy.model_folder import SHARD_BYTES, load_whole, located
from assay.policy.policy import Policy


def load_policy(
    source: str | Path,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    allow_nonfinite: bool = False,
) -> Policy:
    """Reads a folder in the Hugging Face layout, an adapter in PEFT's layout, or a Hub id such as `Qwen/Qwen3-0.6B`.

    Weights stored in bf16, fp16, fp32 or fp64 are converted to `dtype`. Weights that are not finite are refused, unless
    `allow_nonfinite` is set.
    """
    load = load_adapted if ((folder := located(source)) / CONFIG).is_file() else load_whole
    return load(folder, dtype=dtype, device=device, allow_nonfinite=allow_nonfinite)


def save_policy(
    policy: Policy,
    path: str | Path,
    *,
    weights: Mapping[str, Tensor] | None = None,
    dtype: torch.dtype | None = None,
    max_shard_bytes: int = SHARD_BYTES,
    merge: bool = False,
) -> None:
    """Writes config.json, weights, tokenizer files and generation_config.json; transformers loads the folder.

    `weights` replaces the policy's own weights; `dtype` is the number format that they are stored in. An adapter is
    written in PEFT's layout; with `merge`, it is merged into its base and written as a plain model. Writing is not
    atomic: to be safe from crashes, write into a fresh folder and rename that folder.
    """
    how = {"weights": weights, "dtype": dtype, "max_shard_bytes": max_shard_bytes, "merge": merge}
    kind_of(policy).save(policy, Path(path), **how)
