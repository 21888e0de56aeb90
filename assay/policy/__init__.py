"""The policy: a transformer in the Hugging Face layout, and its tokenizer.
Torch is imported at the first use of a name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.policy.checkpoint import load_policy, save_policy
    from assay.policy.config import PolicyConfig, Rope
    from assay.policy.hf_config import config_from_hf, config_to_hf
    from assay.policy.model_folder import load_weights
    from assay.policy.policy import Policy, fingerprint, fresh_policy
    from assay.policy.seeing import fresh_seeing
    from assay.policy.tokenizer import Tokenizer, character_tokenizer, load_tokenizer
    from assay.policy.transformer import Transformer

__all__ = [
    "Policy",
    "PolicyConfig",
    "Rope",
    "Tokenizer",
    "Transformer",
    "character_tokenizer",
    "config_from_hf",
    "config_to_hf",
    "fingerprint",
    "fresh_policy",
    "fresh_seeing",
    "load_policy",
    "load_tokenizer",
    "load_weights",
    "save_policy",
]

_HOME = {
    "Policy": "policy",
    "PolicyConfig": "config",
    "Rope": "config",
    "Tokenizer": "tokenizer",
    "Transformer": "transformer",
    "character_tokenizer": "tokenizer",
    "config_from_hf": "hf_config",
    "config_to_hf": "hf_config",
    "fingerprint": "policy",
    "fresh_policy": "policy",
    "fresh_seeing": "seeing",
    "load_policy": "checkpoint",
    "load_tokenizer": "tokenizer",
    "load_weights": "model_folder",
    "save_policy": "checkpoint",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'assay.policy' has no attribute '{name}'")
    return getattr(importlib.import_module(f"assay.policy.{_HOME[name]}"), name)
