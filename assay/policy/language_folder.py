"""A language model on disk: a whole model in the Hugging Face layout, or an adapter in PEFT's layout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from assay.policy.adapter_folder import adapter_files, save_adapted
from assay.policy.model_folder import model_files, save_whole
from assay.policy.policy import Policy


def save(
    policy: Policy,
    folder: Path,
    *,
    weights: Mapping[str, Tensor] | None,
    dtype: torch.dtype | None,
    max_shard_bytes: int,
    merge: bool,
) -> None:
    """As `save_policy`, of a language model."""
    if policy.adapter is not None and not merge:
        save_adapted(policy, folder)
    else:
        save_whole(policy, folder, model_files, weights=weights, dtype=dtype, max_shard_bytes=max_shard_bytes)


def files(policy: Policy) -> dict[str, bytes]:
    """The files of a folder beside the weights."""
    return model_files(policy) if policy.adapter is None else adapter_files(policy)
