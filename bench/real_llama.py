"""llama.cpp in `bench.real_turns`: all rows at once as sequences of one context, each of its full length. Runs in
`.venv-llama_cpp`.

Options: precision fp32 | bf16 (the type of the weights in its file), unified (one store of keys and values for all
sequences, or one for each), flash (its attention), cells (their format), draw: by llama.cpp's samplers, or by numpy
from its logits.

A prompt is run once for all rows of its group, whose sequences copy its keys and values.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import llama_cpp as llama
import numpy as np

from bench.channel import Channel, Closed
from bench.real_work import Work, job

CELLS = {"f16": 1, "f32": 0, "bf16": 30}  # enum ggml_type
UBATCH, PAD = 512, 256  # llama.cpp rounds the length of a sequence up to a multiple of this

Draw = Callable[[list[int]], list[int]]
"""Outputs of the last batch -> a token for each."""


class Batch:
    """Tokens that are run at once, each with its place, its sequence, and whether its logits are wanted."""

    def __init__(self, room: int) -> None:
        self.raw = llama.llama_batch_init(room, 0, 1)

    def fill(self, tokens: list[tuple[int, int, int, bool]]) -> Any:
        raw = self.raw
        raw.n_tokens = len(tokens)
        for i, (token, place, sequence, wanted) in enumerate(tokens):
            raw.token[i], raw.pos[i], raw.n_seq_id[i], raw.logits[i] = token, place, 1, wanted
            raw.seq_id[i][0] = sequence
        return raw


class Sampler:
    """A model and its context."""

    def __init__(self, work: Work, options: dict[str, Any]) -> None:
        self.work = work
        llama.llama_backend_init()
        model = llama.llama_model_load_from_file(
            work.files[options["precision"]].encode(), llama.llama_model_default_params()
        )
        if not model:
            raise SystemExit(f"llama.cpp cannot read {work.files[options['precision']]}")
        self.vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
        longest = max(len(question.ids) for question in work.questions) + work.answer
        prompts = sum(len(question.ids) for question in work.questions)
        unified = options["unified"]
        settings = llama.llama_context_default_params()
        settings.n_seq_max = work.rows
        settings.n_ctx = prompts + work.rows * (work.answer + 1) if unified else work.rows * (-(-longest // PAD) * PAD)
        settings.n_batch = settings.n_ubatch = max(UBATCH, prompts, work.rows)
        settings.n_threads = settings.n_threads_batch = work.threads
        settings.kv_unified = unified
        settings.flash_attn_type = 1 if options["flash"] else 0
        settings.type_k = settings.type_v = CELLS[options["cells"]]
        settings.no_perf = True
        self.context = llama.llama_init_from_model(model, settings)
        if not self.context:
            raise SystemExit("llama.cpp makes no context with these settings")
        self.memory = llama.llama_get_memory(self.context)
        self.batch = Batch(max(prompts, work.rows))
        self.draw: Draw = self._own_draw() if options["draw"] == "llama" else self._numpy_draw()
        self.drawing = 0.0

    def _own_draw(self) -> Draw:
        chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        llama.llama_sampler_chain_add(chain, llama.llama_sampler_init_temp(self.work.temperature))
        llama.llama_sampler_chain_add(chain, llama.llama_sampler_init_dist(1))
        return lambda outputs: [llama.llama_sampler_sample(chain, self.context, i) for i in outputs]

    def _numpy_draw(self) -> Draw:
        rng = np.random.default_rng(1)

        def one(output: int) -> int:
            address = llama.llama_get_logits_ith(self.context, output)
            logits = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (self.vocab,))
            p = np.exp((logits - logits.max()) / np.float32(self.work.temperature)).cumsum(dtype=np.float64)
            return int(np.searchsorted(p, rng.random() * p[-1], side="right"))

        return lambda outputs: [one(i) for i in outputs]

    def _run(self, tokens: list[tuple[int, int, int, bool]]) -> None:
        if failed := llama.llama_decode(self.context, self.batch.fill(tokens)):
            raise SystemExit(f"llama.cpp cannot run a batch of {len(tokens)} tokens: error {failed}")
        llama.llama_synchronize(self.context)

    def _drawn(self, outputs: list[int]) -> list[int]:
        began = time.perf_counter()
        tokens = self.draw(outputs)
        self.drawing += time.perf_counter() - began
        return tokens

    def answers(self) -> list[list[int]]:
        work = self.work
        self.drawing = 0.0
        llama.llama_memory_clear(self.memory, False)
        tokens, last = [], []
        for number, question in enumerate(work.questions):
            end = len(question.ids) - 1
            tokens += [(token, i, number * work.samples, i == end) for i, token in enumerate(question.ids)]
            last.append(len(tokens) - 1)
        self._run(tokens)
        found = [[token] for token in self._drawn([i for i in last for _ in range(work.samples)])]
        for number in range(len(work.questions)):
            first = number * work.samples
            for other in range(first + 1, first + work.samples):
                llama.llama_memory_seq_cp(self.memory, first, other, -1, -1)
        starts = [len(question.ids) for question in work.questions for _ in range(work.samples)]
        every = list(range(work.rows))
        for place in range(work.answer - 1):
            self._run([(found[row][-1], starts[row] + place, row, True) for row in every])
            for row, token in zip(every, self._drawn(every), strict=True):
                found[row].append(token)
        return found


def main() -> None:
    channel, (work, options) = Channel(), job()
    sampler = Sampler(work, options)
    channel.ready(system="llama.cpp", threads=work.threads, llama_cpp_python=version("llama_cpp_python"))
    for _ in range(work.steps):
        try:
            began = channel.wait()
        except Closed:
            return
        made = sampler.answers()
        seconds = time.perf_counter() - began
        channel.step(seconds, rows=len(made), tokens=sum(map(len, made)), drawing_s=sampler.drawing)


if __name__ == "__main__":
    main()
