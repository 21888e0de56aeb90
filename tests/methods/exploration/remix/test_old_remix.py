"""A run from before prompts were values opens and goes on; of answers that it holds it is known which had a hint."""

from __future__ import annotations

from pathlib import Path

import pytest
from old_runs import opened
from safetensors.numpy import load_file
from small_runs import Shell, steps_of

from assay.memory.columns import of_columns

ARCHIVE = Path(__file__).parent / "old_run.tar.xz"
"""Four steps of grpo with hints in half of the prompts and a memory of past groups, by the version e1b89b40."""
HINTED = [1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0]


@pytest.mark.slow
def test_a_run_that_holds_hinted_answers_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, shell = opened(ARCHIVE, tmp_path), Shell(capsys)
    columns = of_columns(load_file(run / "ckpt" / "step-00000004" / "memory.safetensors"))
    assert [int(episode.request.hinted) for episode in columns["past"]] == HINTED
    assert shell("report", run, "--json").code == 0
    assert shell("resume", run, "--steps", 6, "--quiet", "--json").code == 0
    assert steps_of(run) == [1, 2, 3, 4, 5, 6]
    held = of_columns(load_file(run / "ckpt" / "step-00000006" / "memory.safetensors"))["past"]
    assert [int(episode.request.hinted) for episode in held][: len(HINTED) - 8] == HINTED[8:]
