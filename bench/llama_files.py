"""Writes a GGUF file again with its matrices in another type. Runs in `.venv-llama_cpp`.

usage: python -m bench.llama_files OLD NEW F32|BF16     started by `bench.real_files`
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import ctypes
import sys

import llama_cpp

TYPES = {"F32": 0, "BF16": 32}  # enum llama_ftype


def main() -> None:
    old, new, kind = sys.argv[1:]
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype, settings.allow_requantize, settings.nthread = TYPES[kind], True, 2
    if failed := llama_cpp.llama_model_quantize(old.encode(), new.encode(), ctypes.byref(settings)):
        raise SystemExit(f"llama.cpp could not write {new}: error {failed}")


if __name__ == "__main__":
    main()
