"""Models of the Hub without the Hub: a cache that holds them already, as `huggingface_hub` lays it out."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers

from assay.policy import Tokenizer, fresh_policy, save_policy
from assay.policy.config import Family, PolicyConfig
from assay.policy.tokenizer import tokenizer_from_files
from assay.rng import Key

REVISION = "0" * 40


def bytes_tokenizer() -> Tokenizer:
    """A token for each byte, so that any text can be written, and one that ends a turn."""
    words = ["<|end|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    backend = Backend(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<|end|>"])
    settings = b'{"eos_token": "<|end|>"}'
    return tokenizer_from_files({"tokenizer.json": backend.to_str().encode(), "tokenizer_config.json": settings})


def any_text_model(folder: Path, *, context: int = 1 << 18, family: Family = "qwen2") -> Path:
    """A model folder that reads any text, with a context in which everything fits, and that knows nothing."""
    tokenizer = bytes_tokenizer()
    shape = PolicyConfig(family, tokenizer.vocab, 8, 1, 1, 1, 8, 8, context, attention_bias=family == "qwen2")
    save_policy(fresh_policy(shape, tokenizer, key=Key("hub")), folder)
    return folder


def pretend_hub(monkeypatch: pytest.MonkeyPatch, cache: Path, *names: str) -> None:
    """From now on these names of the Hub are in the cache, and nothing is asked of the network."""
    for name in names:
        home = cache / f"models--{name.replace('/', '--')}"
        any_text_model(home / "snapshots" / REVISION)
        (home / "refs").mkdir()
        (home / "refs" / "main").write_text(REVISION)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
