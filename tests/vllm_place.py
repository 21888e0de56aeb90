"""The environment with vLLM that some tests start servers of: `make test-scale` makes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from missing_externals import VARIABLE

from assay.policy import PolicyConfig, character_tokenizer, fresh_policy, save_policy
from assay.rng import Key
from assay.tasks import ALPHABET

PYTHON = os.environ.get("ASSAY_SAMPLER_PYTHON", str(Path(__file__).parents[1] / ".venv-vllm" / "bin" / "python"))


def require_vllm() -> None:
    """Skips the test where there is no such environment, and fails it where nothing may be missing."""
    if Path(PYTHON).exists():
        return
    why = f"{PYTHON} does not exist: `make test-scale` makes it, or ASSAY_SAMPLER_PYTHON names another one"
    if os.environ.get(VARIABLE) == "all":
        pytest.fail(why)
    pytest.skip(why)


def model_of(folder: Path, *, head: int = 32, context: int = 64) -> Path:
    """A model with heads of so many numbers; vLLM's kernels of processors compute 32, 64 and more."""
    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 2 * head, 1, 2, 2, head, 64, context, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("vllm run")), folder)
    return folder
