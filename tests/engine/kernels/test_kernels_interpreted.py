"""The fused kernels in Triton's interpreter. It must be on before Triton is imported, so that the tests of it run in a
process of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
MODULES = sorted(path.name for path in HERE.glob("interpreted_*.py"))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton has no package for this system")
def test_the_kernels_equal_their_formulas(pytestconfig: pytest.Config) -> None:
    """All modules in one process, because most of its time is that of its imports."""
    assert len(MODULES) >= 5
    ours = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": ours, "OMP_NUM_THREADS": "1"}
    which = "" if "deep" in (wanted := pytestconfig.option.markexpr) and "not deep" not in wanted else "not deep"
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", which, "--rootdir", str(ROOT)]
    done = subprocess.run(
        [*line, *(str(HERE / name) for name in MODULES)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-6000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout, done.stdout[-2000:]
