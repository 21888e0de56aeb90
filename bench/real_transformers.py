"""`generate` of transformers in `bench.real_turns`: all rows at once, each of its full length. Runs in `.venv-trl`.

Options: precision fp32 | bf16, attention, cache.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import time
from typing import Any

from bench.trl_setup import versions  # isort: split

import torch
from transformers import AutoModelForCausalLM, GenerationConfig

from bench.channel import Channel, Closed
from bench.real_work import job

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def main() -> None:
    channel, (work, options) = Channel(), job()
    torch.set_num_threads(work.threads)
    model: Any = AutoModelForCausalLM.from_pretrained(
        work.folder, dtype=DTYPES[options["precision"]], attn_implementation=options.get("attention", "sdpa")
    ).eval()
    rows = [torch.tensor(question.ids) for question in work.questions for _ in range(work.samples)]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_side="left")
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], True, padding_side="left")
    model.generation_config = GenerationConfig(
        do_sample=True,
        temperature=work.temperature,
        top_k=0,
        top_p=1.0,
        max_new_tokens=work.answer,
        pad_token_id=0,
        cache_implementation=options.get("cache"),
    )  # with no token that ends an answer
    torch.manual_seed(0)
    channel.ready(system="transformers", threads=torch.get_num_threads(), **versions())
    for _ in range(work.steps):
        try:
            began = channel.wait()
        except Closed:
            return
        with torch.inference_mode():
            made = model.generate(ids, attention_mask=mask)
        seconds = time.perf_counter() - began
        channel.step(seconds, rows=len(made), tokens=made.shape[0] * (made.shape[1] - ids.shape[1]))


if __name__ == "__main__":
    main()
