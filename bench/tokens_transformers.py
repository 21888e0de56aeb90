"""Ids and prompts by the tokenizer that transformers reads out of a GGUF file. Runs in `.venv-trl`.

usage: python -m bench.tokens_transformers JOB.json ANSWER.json       started by `bench.tokens`
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import json
import sys
from importlib.metadata import version
from pathlib import Path

from tokenizers import pre_tokenizers
from transformers import AutoTokenizer


def main() -> None:
    given, answer = map(Path, sys.argv[1:])
    job = json.loads(given.read_text())
    path = Path(job["gguf"])
    codec = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)

    def ids() -> list[list[int]]:
        return [codec(text, add_special_tokens=False)["input_ids"] for text in job["texts"]]

    found = {"about": {name: version(name) for name in ("transformers", "tokenizers", "gguf")}, "ids": ids()}
    digits = pre_tokenizers.Digits(individual_digits=True)
    rest = codec.backend_tokenizer.pre_tokenizer
    codec.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, rest])
    found["cut"] = ids()
    found["prompts"] = [codec.apply_chat_template(t, add_generation_prompt=True, tokenize=False) for t in job["talks"]]
    found["prompt_ids"] = [
        codec.apply_chat_template(talk, add_generation_prompt=True, return_dict=False) for talk in job["talks"]
    ]
    answer.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
