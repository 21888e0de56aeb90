"""A run that an earlier version wrote opens, is reported and goes on, though names have changed since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from old_runs import opened
from small_runs import Shell, steps_of

ARCHIVE = Path(__file__).parent / "old_run.tar.xz"
"""Four steps of spec-rl by the version whose parts lay in `augment`, `assess` and `verify`."""


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    return opened(ARCHIVE, tmp_path)


@pytest.mark.slow
def test_a_run_of_an_earlier_version_goes_on(old_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    written = json.loads((old_run / "run.json").read_text())["experiment"]["recipe"]["mechanism"]
    assert written["augment"][0]["part"] == "speculate" and written["assess"][0]["part"] == "distributions"
    assert shell("report", old_run, "--json").code == 0
    assert shell("resume", old_run, "--steps", 6, "--quiet", "--json").code == 0
    assert steps_of(old_run) == [1, 2, 3, 4, 5, 6]
    memory = json.loads((old_run / "ckpt" / "step-00000006" / "memory.json").read_text())
    assert memory["stores"]["pass-rates"] == {"countdown/3": [0, 6 * 4]}  # four answers a step, the old steps included
