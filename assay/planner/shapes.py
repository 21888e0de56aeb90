"""The shapes of models: of folders and bases of this machine, and of some that are published on the Hub."""

from __future__ import annotations

from assay.errors import ConfigError
from assay.policy.config import PolicyConfig
from assay.run.named_model import kind_of_model, shape_of


def _qwen2(hidden: int, layers: int, heads: int, kv: int, ffn: int, vocab: int, *, tied: bool) -> PolicyConfig:
    return PolicyConfig(
        "qwen2", vocab, hidden, layers, heads, kv, hidden // heads, ffn, 32768, tied=tied, attention_bias=True
    )


def _qwen3(hidden: int, layers: int, heads: int, kv: int, ffn: int, *, tied: bool) -> PolicyConfig:
    return PolicyConfig("qwen3", 151936, hidden, layers, heads, kv, 128, ffn, 40960, tied=tied, qk_norm=True)


def _llama(hidden: int, layers: int, heads: int, ffn: int, *, head_dim: int = 128, tied: bool = False) -> PolicyConfig:
    return PolicyConfig("llama", 128256, hidden, layers, heads, 8, head_dim, ffn, 131072, tied=tied)


PUBLISHED = {
    "Qwen/Qwen2.5-0.5B": _qwen2(896, 24, 14, 2, 4864, 151936, tied=True),
    "Qwen/Qwen2.5-1.5B": _qwen2(1536, 28, 12, 2, 8960, 151936, tied=True),
    "Qwen/Qwen2.5-3B": _qwen2(2048, 36, 16, 2, 11008, 151936, tied=True),
    "Qwen/Qwen2.5-7B": _qwen2(3584, 28, 28, 4, 18944, 152064, tied=False),
    "Qwen/Qwen2.5-14B": _qwen2(5120, 48, 40, 8, 13824, 152064, tied=False),
    "Qwen/Qwen2.5-32B": _qwen2(5120, 64, 40, 8, 27648, 152064, tied=False),
    "Qwen/Qwen2.5-72B": _qwen2(8192, 80, 64, 8, 29568, 152064, tied=False),
    "Qwen/Qwen3-0.6B": _qwen3(1024, 28, 16, 8, 3072, tied=True),
    "Qwen/Qwen3-1.7B": _qwen3(2048, 28, 16, 8, 6144, tied=True),
    "Qwen/Qwen3-4B": _qwen3(2560, 36, 32, 8, 9728, tied=True),
    "Qwen/Qwen3-8B": _qwen3(4096, 36, 32, 8, 12288, tied=False),
    "Qwen/Qwen3-14B": _qwen3(5120, 40, 40, 8, 17408, tied=False),
    "Qwen/Qwen3-32B": _qwen3(5120, 64, 64, 8, 25600, tied=False),
    "meta-llama/Llama-3.2-1B": _llama(2048, 16, 32, 8192, head_dim=64, tied=True),
    "meta-llama/Llama-3.2-3B": _llama(3072, 28, 24, 8192, tied=True),
    "meta-llama/Llama-3.1-8B": _llama(4096, 32, 32, 14336),
    "meta-llama/Llama-3.1-70B": _llama(8192, 80, 64, 28672),
}
"""Hub id -> its shape, as the model's config.json says it."""


def shape(model: str) -> PolicyConfig:
    """The shape of a model, without loading it. Variants of a published one (-Instruct, -Base) share its shape."""
    if (found := shape_of(model)) is not None:
        return found
    if (kind := kind_of_model(model)) is not None:
        kind.require("ranks", what="assay plan", instead="A policy of this kind runs in one process.")
    plain = model.removesuffix("-Instruct").removesuffix("-Base")
    if plain in PUBLISHED:
        return PUBLISHED[plain]
    raise ConfigError(
        f"--model is {model!r}, whose shape is not known here: give a folder with its config.json, a base, or one of "
        f"{', '.join(PUBLISHED)}."
    )
