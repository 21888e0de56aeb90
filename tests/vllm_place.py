"""The environment with vLLM that some tests start servers of: `make test-scale` makes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from missing_externals import VARIABLE

PYTHON = os.environ.get("ASSAY_SAMPLER_PYTHON", str(Path(__file__).parents[1] / ".venv-vllm" / "bin" / "python"))


def require_vllm() -> None:
    """Skips the test where there is no such environment, and fails it where nothing may be missing."""
    if Path(PYTHON).exists():
        return
    why = f"{PYTHON} does not exist: `make test-scale` makes it, or ASSAY_SAMPLER_PYTHON names another one"
    if os.environ.get(VARIABLE) == "all":
        pytest.fail(why)
    pytest.skip(why)
