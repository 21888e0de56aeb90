"""Python 3.12 and 3.13, as far as no torch is needed.

Every file is compiled by each interpreter that is here. `make test-versions` makes environments without torch and runs
the files of TORCH_FREE in them, whole.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from small_runs import ROOT
from torch_free import CHECK, LINES

VERSIONS = ("3.12", "3.13")
COMPILE = """
import pathlib, sys, warnings
warnings.simplefilter("error")
paths = [path for folder in sys.argv[1:] for path in sorted(pathlib.Path(folder).rglob("*.py"))]
for path in paths:
    compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
print(len(paths))
"""


@functools.cache
def interpreter(version: str) -> str:
    """An interpreter of this version that starts; the test is skipped where there is none."""
    homes = (Path.home() / ".pyenv/versions").glob(f"{version}*/bin/python")
    named = [ROOT / f".venv-{version}/bin/python", *sorted(homes), shutil.which(f"python{version}")]
    for path in filter(None, named):
        if Path(path).exists() and _answers(str(path)) == version:
            return str(path)
    pytest.skip(f"there is no Python {version} on this machine")


def _answers(path: str) -> str:
    line = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([path, "-c", line], capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_file_compiles_without_a_warning(version: str) -> None:
    folders = [str(ROOT / name) for name in ("assay", "tests", "bench")]
    done = subprocess.run([interpreter(version), "-c", COMPILE, *folders], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.parametrize("version", VERSIONS)
def test_configuration_and_command_line_work_without_torch(version: str) -> None:
    python = interpreter(version)
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


def test_the_makefile_and_the_package_name_the_same_versions() -> None:
    listed = re.search(r"^VERSIONS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert listed and tuple(listed[1].split()) == VERSIONS
    assert 'requires-python = ">=3.11,<3.14"' in (ROOT / "pyproject.toml").read_text()
