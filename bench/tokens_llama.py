"""Ids and prompts by llama.cpp. Runs in `.venv-llama_cpp`.

usage: python -m bench.tokens_llama JOB.json ANSWER.json       started by `bench.tokens`
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import ctypes
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llama_cpp
from llama_cpp.llama_chat_format import Jinja2ChatFormatter


def tokenized(vocab: Any, text: str) -> list[int]:
    raw = text.encode()
    room = len(raw) + 8
    ids = (llama_cpp.llama_token * room)()
    count = llama_cpp.llama_tokenize(vocab, raw, len(raw), ids, room, False, True)  # nothing added, specials are read
    if count < 0:
        raise SystemExit(f"llama.cpp wants room for {-count} ids of {len(raw)} bytes")
    return list(ids[:count])


def field(model: Any, name: str) -> str:
    room = ctypes.create_string_buffer(1 << 20)
    if llama_cpp.llama_model_meta_val_str(model, name.encode(), room, len(room)) < 0:
        raise SystemExit(f"the file has no field {name}")
    return room.value.decode()


def built_in(template: str, talk: list[dict[str, str]]) -> str:
    """By the templates that llama.cpp has in C, of which it takes the one that the text of a template looks like."""
    kept = [(one["role"].encode(), one["content"].encode()) for one in talk]
    messages = (llama_cpp.llama_chat_message * len(kept))(*(llama_cpp.llama_chat_message(*one) for one in kept))
    room = ctypes.create_string_buffer(1 << 16)
    size = llama_cpp.llama_chat_apply_template(template.encode(), messages, len(kept), True, room, len(room))
    return room.raw[:size].decode() if size >= 0 else ""


def main() -> None:
    given, answer = map(Path, sys.argv[1:])
    job = json.loads(given.read_text())
    llama_cpp.llama_backend_init()
    settings = llama_cpp.llama_model_default_params()
    settings.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(job["gguf"].encode(), settings)
    if not model:
        raise SystemExit(f"llama.cpp cannot read {job['gguf']}")
    vocab = llama_cpp.llama_model_get_vocab(model)
    found = {
        "about": {"llama_cpp_python": version("llama_cpp_python")},
        "ids": [tokenized(vocab, text) for text in job["texts"]],
    }
    if job["talks"]:
        template = field(model, "tokenizer.chat_template")
        places = {"bos_token": llama_cpp.llama_vocab_bos(vocab), "eos_token": llama_cpp.llama_vocab_eos(vocab)}
        ends = {name: llama_cpp.llama_vocab_get_text(vocab, place).decode() for name, place in places.items()}
        jinja = Jinja2ChatFormatter(template, **ends)
        found["prompts"] = [jinja(messages=talk).prompt for talk in job["talks"]]
        found["prompt_ids"] = [tokenized(vocab, prompt) for prompt in found["prompts"]]
        found["built_in"] = [built_in(template, talk) for talk in job["talks"]]
    answer.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
