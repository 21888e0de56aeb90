"""Models in GGUF files compute what llama.cpp computes from the same file, where its environment is there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from gguf_files import model
from transformers import AutoModelForCausalLM

from assay.policy.gguf import convert
from bench.pair import ROOT, System

LLAMA = System("llama.cpp", ".venv-llama_cpp", "bench.llama_logits")
IDS = [1, 5, 90, 17, 200, 33, 33, 64, 7, 8, 9, 120]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LLAMA.python.exists(), reason="needs llama.cpp: bash bench/setup.sh llama_cpp"),
]


def log_probs(logits: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(logits.double(), -1)


def theirs(path: Path) -> torch.Tensor:
    out = path.with_suffix(".npy")
    line = [str(LLAMA.python), "-m", LLAMA.module, str(path), json.dumps(IDS), str(out)]
    subprocess.run(line, cwd=ROOT, check=True, capture_output=True)
    return log_probs(torch.from_numpy(np.load(out)))


def of_folder(folder: Path) -> torch.Tensor:
    """By transformers, with which our engines agree (tests/policy/test_policy_parity.py)."""
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        return log_probs(network(torch.tensor([IDS])).logits[0])


@pytest.mark.parametrize("kind", ["F32", "Q8_0", "Q4_1"])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_log_probs_are_those_of_llama_cpp(family: str, kind: str, tmp_path: Path) -> None:
    """With quantised weights llama.cpp rounds the other factor to 8 bits too."""
    path = model(family, kind=kind, pre="qwen2" if family == "qwen2" else "smollm").write(tmp_path / "m.gguf")
    convert(path, tmp_path / "m")
    apart = (of_folder(tmp_path / "m") - theirs(path)).abs().max().item()
    assert apart < (1e-6 if kind == "F32" else 1e-2)


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_queries_and_keys_in_another_order_are_noticed(family: str, tmp_path: Path) -> None:
    """The order of the other family: else the test above would say nothing about positions."""
    path = model(family, kind="F32", pre="qwen2" if family == "qwen2" else "smollm").write(tmp_path / "m.gguf")
    convert(path, tmp_path / "m")
    stored = safetensors.torch.load_file(tmp_path / "m" / "model.safetensors")
    for name, heads in (("q", 4), ("k", 2)):
        place = f"model.layers.0.self_attn.{name}_proj.weight"
        stored[place] = stored[place].reshape(heads, 4, 2, 32).transpose(1, 2).reshape(heads * 8, 32).contiguous()
    safetensors.torch.save_file(stored, tmp_path / "m" / "model.safetensors", metadata={"format": "pt"})
    assert (of_folder(tmp_path / "m") - theirs(path)).abs().max().item() > 1e-4
