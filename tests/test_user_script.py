"""Types as a user sees them: pyright reads a program that uses the package, and finds wrong what is marked as wrong."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest
from small_runs import ROOT

SCRIPT = ROOT / "tests" / "data" / "user_script.py"


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "assay" / "py.typed").is_file()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pyright") is None, reason="needs pyright")
def test_a_program_of_a_users_passes_and_its_mistakes_do_not() -> None:
    """In the script every mistake is marked, and a mark where pyright finds nothing is an error."""
    assert SCRIPT.read_text().count("# pyright: ignore[") >= 9
    line = [sys.executable, "-m", "pyright", str(SCRIPT)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
