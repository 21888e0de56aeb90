"""GGUF files of the architectures llama and qwen2 -> model folders in the Hugging Face layout, with weights in fp32.

Quantised weights are restored to the numbers that they stand for; these are not the weights of the original model.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import ConfigError, DataError, StorageError
from assay.host.terminal import plain
from assay.policy.config import Family, PolicyConfig, Rope, parameters
from assay.policy.gguf_file import GGUF, Stored, is_gguf, read_gguf
from assay.policy.gguf_tokenizer import GgufTokenizer
from assay.policy.hf_config import config_to_hf
from assay.policy.provenance import FILE, Provenance

__all__ = ["FORMAT", "convert", "described", "is_gguf", "read_gguf", "sha256_of", "shape_of", "weights"]

FORMAT = 1  # of the folders that are written; another number means that a cache of older ones is not read
FAMILIES: tuple[Family, ...] = ("llama", "qwen2")
LARGEST = 1 << 31  # of a size in the metadata
LONGEST = 200  # characters that are kept of the name, licence and source of a file

_SIZES = {
    "hidden": "embedding_length",
    "layers": "block_count",
    "heads": "attention.head_count",
    "ffn": "feed_forward_length",
    "context": "context_length",
}
_USED = {*_SIZES.values(), "attention.head_count_kv", "attention.key_length", "attention.value_length"}
_USED |= {"attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.dimension_count", "vocab_size"}
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "rope.scaling.type": ("none",),
    "rope.scale_linear": (1.0,),
    "expert_count": (0,),
    "expert_used_count": (0,),
    "attention.causal": (True,),
    "tensor_data_layout": ("Meta AI original pth",),
}
"""Fields -> the values under which they change nothing. Any other field of the architecture is refused, because it may
change what the model computes."""

_LAYER = {
    "attn_norm": ("input_layernorm", "norm"),
    "ffn_norm": ("post_attention_layernorm", "norm"),
    "attn_q": ("self_attn.q_proj", "q"),
    "attn_k": ("self_attn.k_proj", "k"),
    "attn_v": ("self_attn.v_proj", "v"),
    "attn_output": ("self_attn.o_proj", "o"),
    "ffn_gate": ("mlp.gate_proj", "up"),
    "ffn_up": ("mlp.up_proj", "up"),
    "ffn_down": ("mlp.down_proj", "down"),
}
"""Name in a GGUF file -> (name in a Hugging Face folder, which shape it has)."""

HEAD = "output.weight"


def convert(path: Path, folder: Path, *, about: Provenance | None = None) -> Provenance:
    """Writes the model in a GGUF file as a new model folder, whole or not at all, and returns its provenance.

    convert(Path("model.gguf"), Path("model"))
    load_policy("model")

    `about` has facts on the file from elsewhere; its texts win over those that the file itself has.
    """
    file, config, tokenizer = described(path)
    provenance = _provenance(file, about)
    ids = tokenizer.ids()
    files = tokenizer.files(context=config.context)
    files |= {"config.json": _json(config_to_hf(config, extra=ids)), FILE: provenance.document()}
    files["generation_config.json"] = _json({name: value for name, value in ids.items() if value is not None})
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StorageError(f"{folder} exists already; name a new or empty folder.")
    scratch = folder.with_name(f".{folder.name}-{os.getpid()}")
    try:
        require_disk(folder, 4 * parameters(config))
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        for name, content in files.items():
            (scratch / name).write_bytes(content)
        _write_weights(scratch / "model.safetensors", file, config)
        scratch.rename(folder)
    except OSError as error:
        raise StorageError(
            f"the model of {path} could not be written to {folder}: {error}. Nothing of it was left there. Make room, "
            "or set ASSAY_CACHE to a folder on a larger disk."
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return provenance


def described(path: Path) -> tuple[GGUF, PolicyConfig, GgufTokenizer]:
    """The header of a file, the shape and the tokenizer. A model that we cannot read is refused before its numbers are
    read.
    """
    file = read_gguf(path)
    config = shape_of(file)
    tokenizer = GgufTokenizer(file.metadata, str(path))
    if len(tokenizer.tokens) > config.vocab:
        raise DataError(f"{path} has {len(tokenizer.tokens):,} tokens and embeds {config.vocab:,}.")
    return file, config, tokenizer


def require_disk(folder: Path, size: int) -> None:
    """Raises StorageError if `size` bytes do not fit on the disk of a folder that may not exist yet."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if (free := shutil.disk_usage(there).free) < size:
        raise StorageError(
            f"{size / 1e6:,.0f} MB are needed on the disk of {there}, and {free / 1e6:,.0f} MB are free. Make room, or "
            "set ASSAY_CACHE to a folder on a larger disk."
        )


def shape_of(file: GGUF) -> PolicyConfig:
    """The shape that the metadata and the tensors describe, which must fit each other."""
    path, metadata = str(file.path), file.metadata
    family = _family(metadata, path)
    own = {k.removeprefix(f"{family}."): v for k, v in metadata.items() if k.startswith(f"{family}.")}
    for name, value in own.items():
        if name not in _USED and not any(value is neutral or value == neutral for neutral in _NEUTRAL.get(name, ())):
            expected = (
                " or ".join(json.dumps(neutral) for neutral in _NEUTRAL.get(name, ())) or "a file without this field"
            )
            raise ConfigError(f"{path}: {family}.{name} = {value!r:.80} is not supported; supported: {expected}.")
    sizes = {ours: _size(own, theirs, path) for ours, theirs in _SIZES.items()}
    if sizes["layers"] > len(file.tensors):
        raise DataError(f"{path} would have {sizes['layers']:,} layers, and holds {len(file.tensors):,} tensors.")
    heads = sizes["heads"]
    if sizes["hidden"] < heads:
        raise DataError(f"{path}: {heads:,} heads share embeddings of {sizes['hidden']:,} numbers; each needs one.")
    head_dim = _size(own, "attention.key_length", path, sizes["hidden"] // heads)
    for name in ("attention.value_length", "rope.dimension_count"):
        if (other := _size(own, name, path, head_dim)) != head_dim:
            raise ConfigError(f"{path}: {name} is {other:,} and a head has {head_dim:,} numbers; they must be equal.")
    embedding = file.tensors.get("token_embd.weight")
    try:
        config = PolicyConfig(
            family=family,
            hidden=sizes["hidden"],
            layers=sizes["layers"],
            heads=heads,
            ffn=sizes["ffn"],
            context=sizes["context"],
            vocab=1 if embedding is None else embedding.shape[0],
            kv_heads=_size(own, "attention.head_count_kv", path, heads),
            head_dim=head_dim,
            rope=Rope(theta=_number(own, "rope.freq_base", path, 10000.0)),
            norm_eps=_number(own, "attention.layer_norm_rms_epsilon", path),
            tied=HEAD not in file.tensors,
            attention_bias=family == "qwen2",
        )
    except ConfigError as error:
        raise ConfigError(f"{path} describes a model that there cannot be: {error}") from None
    _check_tensors(file.tensors, config, path)
    return config


def weights(file: GGUF, config: PolicyConfig) -> Iterator[tuple[str, np.ndarray]]:
    """(name in a Hugging Face folder, numbers) of each tensor."""
    for name, (theirs, _) in _tensors(config).items():
        numbers = file.numbers(name)
        if config.family == "llama" and name.endswith(("attn_q.weight", "attn_k.weight")):
            numbers = _halves(numbers, config.heads if "attn_q" in name else config.kv_heads)
        yield theirs, numbers


def _halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """The rows of a query or key matrix with the two halves of each head one after the other, as rotary positions of
    the Hugging Face layout turn them. Files of llama have the pairs that are turned together beside each other; those
    of qwen2 do not.
    """
    outer, inner = rows.shape
    return rows.reshape(heads, outer // heads // 2, 2, inner).swapaxes(1, 2).reshape(outer, inner)


def _family(metadata: Mapping[str, Any], place: str) -> Family:
    named = metadata.get("general.architecture")
    for family in FAMILIES:
        if named == family:
            return family
    raise ConfigError(
        f"{place} is of the architecture {named!r:.80}; {' and '.join(FAMILIES)} are read. Take the model as a Hugging "
        "Face folder instead."
    )


def _size(own: Mapping[str, Any], name: str, place: str, default: int | None = None) -> int:
    value = own.get(name, default)
    if type(value) is not int or not 1 <= value < LARGEST:
        came = "is missing" if value is None else f"is {value!r:.80}"
        raise DataError(f"{place}: {name} should be a whole number from 1 on, and {came}.")
    return value


def _number(own: Mapping[str, Any], name: str, place: str, default: float | None = None) -> float:
    value = own.get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool):
        came = "is missing" if value is None else f"is {value!r:.80}"
        raise DataError(f"{place}: {name} should be a number, and {came}.")
    return float(value)


def _tensors(c: PolicyConfig) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Name in the file -> (name in a Hugging Face folder, shape), in the order of the layers."""
    q, k = c.heads * c.head_dim, c.kv_heads * c.head_dim
    shapes: dict[str, tuple[int, ...]] = {"norm": (c.hidden,), "q": (q, c.hidden), "k": (k, c.hidden)}
    shapes |= {"v": (k, c.hidden), "o": (c.hidden, q), "up": (c.ffn, c.hidden), "down": (c.hidden, c.ffn)}
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {
        "token_embd.weight": ("model.embed_tokens.weight", (c.vocab, c.hidden)),
        "output_norm.weight": ("model.norm.weight", (c.hidden,)),
    }
    if not c.tied:
        tensors[HEAD] = ("lm_head.weight", (c.vocab, c.hidden))
    for layer in range(c.layers):
        for name, (theirs, shape) in _LAYER.items():
            tensors[f"blk.{layer}.{name}.weight"] = (f"model.layers.{layer}.{theirs}.weight", shapes[shape])
            if c.attention_bias and shape in ("q", "k", "v"):
                tensors[f"blk.{layer}.{name}.bias"] = (f"model.layers.{layer}.{theirs}.bias", shapes[shape][:1])
    return tensors


def _check_tensors(stored: Mapping[str, Stored], config: PolicyConfig, place: str) -> None:
    if "rope_freqs.weight" in stored:
        raise ConfigError(
            f"{place} scales its rotary positions (rope_freqs.weight, as Llama 3.1 does), which is not read from GGUF "
            "files. Take the model as a Hugging Face folder instead."
        )
    expected = _tensors(config)
    problems = [f"{name} is missing" for name in expected if name not in stored]
    problems += [f"{name!r:.80} is unexpected" for name in stored if name not in expected]
    problems += [
        f"{name} is {list(stored[name].shape)}, expected {list(shape)}"
        for name, (_, shape) in expected.items()
        if name in stored and stored[name].shape != shape
    ]
    if problems:
        more = f" and {len(problems) - 8} more" if len(problems) > 8 else ""
        raise DataError(f"the tensors of {place} do not fit its metadata: {'; '.join(problems[:8])}{more}.")


def _write_weights(path: Path, file: GGUF, config: PolicyConfig) -> None:
    """Writes the safetensors file tensor by tensor, so that one of them is in memory at a time."""
    places, at = {}, 0
    for theirs, shape in _tensors(config).values():
        end = at + 4 * int(np.prod(shape, dtype=np.int64))
        places[theirs] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, end]}
        at = end
    header = json.dumps({"__metadata__": {"format": "pt"}, **places}).encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as out:
        out.write(len(header).to_bytes(8, "little") + header)
        for _, numbers in weights(file, config):
            out.write(np.ascontiguousarray(numbers, "<f4").data)


def _provenance(file: GGUF, about: Provenance | None) -> Provenance:
    kinds = Counter(tensor.kind for tensor in file.tensors.values())
    most = max(kinds, key=lambda kind: (kind.quantised, kinds[kind], kind.name))
    text = {name: _line(value) for name, value in file.metadata.items() if isinstance(value, str)}
    found = Provenance(
        name=text.get("general.name", ""),
        licence=text.get("general.license", ""),
        citation=text.get("general.doi") or text.get("general.url") or text.get("general.source.url", ""),
        restored=f"restored from {most.name}",
        source=file.path.name,
        sha256=sha256_of(file.path),
    )
    given = {} if about is None else {name: value for name, value in dataclasses.asdict(about).items() if value}
    return dataclasses.replace(found, **given)


def _line(text: str) -> str:
    """A stranger's text as one line that a person can read: it stands in messages and on cards."""
    return plain(" ".join(text.split())[:LONGEST])


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=2) + "\n").encode()
