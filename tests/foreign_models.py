"""Random models of other families, as `transformers` saves them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch

from assay.policy import character_tokenizer
from assay.tasks import ALPHABET

TOKENIZER = character_tokenizer(ALPHABET)
SIZES = {
    "vocab_size": TOKENIZER.vocab,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "initializer_range": 0.4,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": TOKENIZER.vocab}
GPT2 |= {"initializer_range": 0.4, "bos_token_id": 1, "eos_token_id": 2}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", GPT2),
    "gemma2": ("gemma2", {**SIZES, "head_dim": 4, "sliding_window": 6, "query_pre_attn_scalar": 4}),
    "gemma3": ("gemma3_text", {**SIZES, "head_dim": 4, "sliding_window": 6, "query_pre_attn_scalar": 4}),
    "phi3": ("phi3", SIZES),
    "mistral": ("mistral", {**SIZES, "sliding_window": 5}),
}


def folder_of(family: str, folder: Path, seed: int = 0, letters: str = ALPHABET) -> Path:
    """A random model of this family as `transformers` saves it, with a token for each letter: those of the tasks."""
    from transformers import AutoConfig, AutoModelForCausalLM

    kind, values = FAMILIES[family]
    tokenizer = character_tokenizer(letters)
    values = {**values, "vocab_size": tokenizer.vocab}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **values))
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.data += 0.2 * torch.randn(parameter.shape)
        model.save_pretrained(folder)
    for name, content in tokenizer.files.items():
        (folder / name).write_bytes(content)
    return folder
