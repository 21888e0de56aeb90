"""Python 3.12 and 3.13, as far as interpreters of this machine go. `make test-versions` runs the whole suite."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest
from small_runs import ROOT
from torch_absent import needs_torch
from torch_free import CHECK, LINES
from versions import VERSIONS, interpreter, without_torch

COMPILE = """
import pathlib, sys, warnings
warnings.simplefilter("error")
paths = [path for folder in sys.argv[1:] for path in sorted(pathlib.Path(folder).rglob("*.py"))]
for path in paths:
    compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
print(len(paths))
"""


def python_of(version: str) -> str:
    """The test is skipped where there is none."""
    found = interpreter(version)
    return found or pytest.skip(f"there is no Python {version} on this machine")


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_file_compiles_without_a_warning(version: str) -> None:
    folders = [str(ROOT / name) for name in ("assay", "tests", "bench")]
    done = subprocess.run([python_of(version), "-c", COMPILE, *folders], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_configuration_and_command_line_work_without_torch(version: str) -> None:
    python = python_of(version)
    if subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode:
        pytest.skip(f"Python {version} has no numpy here; `make test-versions` makes an environment that has")
    done = subprocess.run(
        [python, "-W", "error", "-c", CHECK],
        input=json.dumps(LINES),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_package_is_for_the_versions_that_are_tested() -> None:
    assert 'requires-python = ">=3.11,<3.14"' in (ROOT / "pyproject.toml").read_text()
    assert VERSIONS == ("3.12", "3.13")


def test_without_torch_everything_else_is_installed() -> None:
    names = {re.split(r"[><=\[]", line)[0] for line in without_torch()}
    assert {"numpy", "pytest", "pytest-xdist", "reasoning-gym", "scipy"} <= names
    assert not names & {"torch", "peft", "bitsandbytes"}


@pytest.mark.parametrize("wrapped", [False, True])
def test_only_what_is_missing_for_want_of_torch_is_left_out(wrapped: bool) -> None:
    missing = ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")
    error: BaseException = missing
    if wrapped:
        error = RuntimeError("an engine is needed")
        error.__cause__ = missing
    assert needs_torch(error)
    assert not needs_torch(ModuleNotFoundError("No module named 'torchless'", name="torchless"))
    assert not needs_torch(ImportError("cannot import name 'x' from 'torch'", name="torch"))
