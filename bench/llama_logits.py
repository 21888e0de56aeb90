"""Logits of llama.cpp at every token of a text. Runs in `.venv-llama_cpp`.

usage: python -m bench.llama_logits FILE.gguf IDS OUT.npy       IDS is a list in JSON
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import ctypes
import json
import sys

import llama_cpp as llama
import numpy as np


def main() -> None:
    path, ids, out = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
    llama.llama_backend_init()
    model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
    if not model:
        raise SystemExit(f"llama.cpp cannot read {path}")
    settings = llama.llama_context_default_params()
    settings.n_threads = settings.n_threads_batch = 1
    settings.n_ctx, settings.flash_attn_type = 256, 0
    settings.type_k = settings.type_v = 0  # keys and values in fp32
    context = llama.llama_init_from_model(model, settings)
    batch = llama.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, True
        batch.seq_id[i][0] = 0
    if failed := llama.llama_decode(context, batch):
        raise SystemExit(f"llama.cpp cannot run {len(ids)} tokens: error {failed}")
    vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    address = ctypes.cast(llama.llama_get_logits(context), ctypes.POINTER(ctypes.c_float))
    np.save(out, np.ctypeslib.as_array(address, (len(ids), vocab)))


if __name__ == "__main__":
    main()
