"""Writes GGUF files for tests, from the published description and independently of the reader: fields, tensors, a whole
model of a few thousand numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tokenizers import pre_tokenizers

FORMS = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i")}
FORMS |= {"f32": (6, "f"), "bool": (7, "?"), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d")}
TEXT, LIST = 8, 9
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q8_0": (8, 32, 34)}
"""Name -> (number of the type, numbers of a block, bytes of a block)."""

Field = tuple[str, Any]  # (form, value); a form of a list begins with "list:"
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MERGES = ("t h", "th e", "Ġ the", "1 2", "Ġ a", "Ġ Ġ")


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def written(form: str, value: Any) -> bytes:
    """A value of the metadata with its type before it."""
    if form.startswith("list:"):
        inner = form.removeprefix("list:")
        if inner == "text":
            return struct.pack("<IIQ", LIST, TEXT, len(value)) + b"".join(map(text, value))
        kind, letter = FORMS[inner]
        return struct.pack(f"<IIQ{len(value)}{letter}", LIST, kind, len(value), *value)
    if form == "text":
        return struct.pack("<I", TEXT) + text(value)
    kind, letter = FORMS[form]
    return struct.pack(f"<I{letter}", kind, value)


@dataclass(frozen=True)
class Tensor:
    """Blocks of a tensor as bytes. The shape has the fastest axis last; the file has it first."""

    shape: tuple[int, ...]
    kind: str
    data: bytes


@dataclass(frozen=True)
class File:
    fields: Mapping[str, Field]
    tensors: Mapping[str, Tensor]
    alignment: int = 32
    version: int = 3
    places: Mapping[str, int] = field(default_factory=dict)  # of tensors that stand elsewhere than they would

    def data(self) -> bytes:
        head = b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), len(self.fields))
        head += b"".join(text(name) + written(*value) for name, value in self.fields.items())
        body = b""
        for name, tensor in self.tensors.items():
            body += b"\0" * (-len(body) % self.alignment)
            place = self.places.get(name, len(body))
            number = TYPES[tensor.kind][0] if tensor.kind in TYPES else int(tensor.kind)
            axes = tensor.shape[::-1]
            head += text(name) + struct.pack(f"<I{len(axes)}QIQ", len(axes), *axes, number, place)
            body += tensor.data
        return head + b"\0" * (-len(head) % self.alignment) + body

    def write(self, path: Path) -> Path:
        path.write_bytes(self.data())
        return path

    def having(self, **fields: Field) -> File:
        """With these fields; `__` in a name stands for a dot."""
        return replace(self, fields={**self.fields, **{name.replace("__", "."): v for name, v in fields.items()}})

    def without(self, *names: str) -> File:
        fields = {name: value for name, value in self.fields.items() if name not in names}
        return replace(self, fields=fields, tensors={n: t for n, t in self.tensors.items() if n not in names})


def letters() -> list[str]:
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def tensor(shape: Sequence[int], kind: str, seed: int) -> Tensor:
    """A tensor of small numbers that depend on the seed."""
    number = seed * 7919 + 1

    def drawn() -> int:
        nonlocal number
        number = number * 1103515245 + 12345 & 0x7FFFFFFF
        return number >> 8

    count = 1
    for axis in shape:
        count *= axis
    if kind == "F32":
        data = struct.pack(f"<{count}f", *((drawn() % 401 - 200) / 1000 for _ in range(count)))
    elif kind == "F16":
        data = struct.pack(f"<{count}e", *((drawn() % 401 - 200) / 1000 for _ in range(count)))
    else:
        inner = TYPES[kind][2] - (4 if kind == "Q4_1" else 2)
        scales = 2 if kind == "Q4_1" else 1
        most = 0.002 if kind == "Q8_0" else 0.02
        data = b"".join(
            struct.pack(f"<{scales}e", *(most * (drawn() % 99 - 49) / 49 for _ in range(scales)))
            + bytes(drawn() % 256 for _ in range(inner))
            for _ in range(count // 32)
        )
    return Tensor(tuple(shape), kind, data)


def model(
    family: str = "llama",
    *,
    kind: str = "Q4_1",
    pre: str = "smollm",
    words: Sequence[str] | None = None,
    tied: bool = True,
    heads: int = 4,
    kv_heads: int = 2,
) -> File:
    """A whole model of one layer. Its tokenizer knows all bytes and a few merges, or the `words` alone."""
    hidden, ffn, dim = 32, 64, 8
    merged = [merge.replace(" ", "") for merge in MERGES] if words is None else []
    tokens = [*SPECIALS, *(letters() if words is None else words), *merged]
    q, k = heads * dim, kv_heads * dim
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        "token_embd.weight": ((len(tokens), hidden), "Q8_0" if kind.startswith("Q") else kind),
        "output_norm.weight": ((hidden,), "F32"),
        "blk.0.attn_norm.weight": ((hidden,), "F32"),
        "blk.0.ffn_norm.weight": ((hidden,), "F32"),
        "blk.0.attn_q.weight": ((q, hidden), kind),
        "blk.0.attn_k.weight": ((k, hidden), kind),
        "blk.0.attn_v.weight": ((k, hidden), kind),
        "blk.0.attn_output.weight": ((hidden, q), kind),
        "blk.0.ffn_gate.weight": ((ffn, hidden), kind),
        "blk.0.ffn_up.weight": ((ffn, hidden), kind),
        "blk.0.ffn_down.weight": ((hidden, ffn), kind),
    }
    if not tied:
        shapes["output.weight"] = ((len(tokens), hidden), kind)
    if family == "qwen2":
        shapes |= {f"blk.0.attn_{name}.bias": ((q if name == "q" else k,), "F32") for name in "qkv"}
    fields: dict[str, Field] = {
        "general.architecture": ("text", family),
        "general.name": ("text", "Tiny"),
        "general.license": ("text", "apache-2.0"),
        "general.url": ("text", "a page about it"),
        "general.languages": ("list:text", ["en"]),
        f"{family}.block_count": ("u32", 1),
        f"{family}.context_length": ("u32", 64),
        f"{family}.embedding_length": ("u32", hidden),
        f"{family}.feed_forward_length": ("u32", ffn),
        f"{family}.attention.head_count": ("u32", heads),
        f"{family}.attention.head_count_kv": ("u32", kv_heads),
        f"{family}.rope.freq_base": ("f32", 1e5),
        f"{family}.attention.layer_norm_rms_epsilon": ("f32", 1e-5),
        "tokenizer.ggml.model": ("text", "gpt2"),
        "tokenizer.ggml.pre": ("text", pre),
        "tokenizer.ggml.tokens": ("list:text", tokens),
        "tokenizer.ggml.token_type": ("list:i32", [3] * 3 + [1] * (len(tokens) - 3)),
        "tokenizer.ggml.merges": ("list:text", list(MERGES) if words is None else []),
        "tokenizer.ggml.bos_token_id": ("u32", 1),
        "tokenizer.ggml.eos_token_id": ("u32", 2),
        "tokenizer.chat_template": ("text", TEMPLATE),
    }
    return File(fields, {name: tensor(*what, seed) for seed, (name, what) in enumerate(shapes.items())})
