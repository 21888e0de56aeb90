"""A model without its weights, which is read in moments: its tokenizer, its configuration, and a network whose tensors
have shapes and no numbers. What a model refuses can be asked before the weights are loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from assay.policy.adapted import attach
from assay.policy.adapter_folder import below
from assay.policy.config import PolicyConfig
from assay.policy.kinds import kind_in
from assay.policy.lora import CONFIG
from assay.policy.model_folder import copies, located, read_ours, read_theirs, require_all
from assay.policy.policy import Policy, laid
from assay.policy.safetensors_folder import require_tensors
from assay.policy.transformer import Transformer
from assay.rng import Key

if TYPE_CHECKING:
    from assay.policy.foreign import Foreign


def outline(source: str | Path) -> Policy:
    """The policy of a folder or of a Hub id, with a network on torch's meta device, which holds no numbers.

    outline("Qwen/Qwen3-0.6B").config.context

    Of files on this machine the headers are compared with config.json. From the Hub come only the small files.
    """
    folder = located(source, weights=False)
    here = Path(source).expanduser().is_dir() or any(folder.glob("*.safetensors"))
    if (folder / CONFIG).is_file():
        policy, lora, _ = below(folder, outline)
        attach(policy.network, lora, key=Key("adapter"))
        return policy
    return kind_in(folder).outline(folder, here=here)


def outline_ours(folder: Path, *, here: bool) -> Policy:
    return read_ours(folder, partial(_ours, folder, here=here))


def outline_theirs(folder: Path, *, here: bool) -> Policy:
    return read_theirs(folder, partial(_theirs, folder, here=here))


def _ours(folder: Path, config: PolicyConfig, *, here: bool) -> Transformer:
    if here:
        require_all(folder, config)
    network = laid(config).tie()
    if here:
        shapes = {name: tuple(slot.shape) for name, slot in network.named_parameters()}
        require_tensors(folder, shapes, optional=copies(config))
    return network


def _theirs(folder: Path, raw: Mapping[str, Any], *, here: bool) -> Foreign:
    from assay.policy.foreign import Foreign, network_of, require_stored

    if here:
        require_stored(folder, raw)
    with torch.device("meta"):
        return Foreign(network_of(raw), raw)
